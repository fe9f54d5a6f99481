// The large parts of the page: fetched once, and then read from the browser's cache for as long as they are the same.
/* global PARTS, LATER */

const STORE = "tolcost-parts";
const parts = new Map([...PARTS, ...LATER].map(([path, size, sum]) => [new URL(path, self.location.href).href, { size, sum }]));

const sizes = (list) => list.reduce((sum, [, size]) => sum + size, 0);
export const counted = { here: 0, fetched: 0, total: sizes(PARTS) };
export const expectLater = () => { counted.total += sizes(LATER); };

// The address of a part says what is in it, so neither this cache nor the browser's own gives an old one.
const named = (url) => `${url}?${parts.get(url).sum}`;

async function store() {
  try {
    return await self.caches?.open(STORE); // only over https, and on this machine
  } catch {
    return undefined;
  }
}

async function whole(response, told) {
  const pieces = [];
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    counted.here += value.length;
    told();
  }
  return new Response(new Blob(pieces), { headers: { "content-type": response.headers.get("content-type") ?? "" } });
}

async function part(url, told) {
  const kept = await store();
  const found = await kept?.match(named(url));
  if (found) {
    counted.here += parts.get(url).size;
    told();
    return found;
  }
  const response = await plain(named(url));
  if (!response.ok) throw new Error(`${url} cannot be read (${response.status})`);
  counted.fetched += parts.get(url).size;
  const read = await whole(response, told);
  if (kept) await kept.put(named(url), read.clone()).catch(() => {}); // no room: the page works without
  return read;
}

let plain = self.fetch;

// Everything that Python asks for while it starts goes through the cache.
export function keepParts(told) {
  plain = self.fetch.bind(self);
  self.fetch = (asked, options) => {
    const url = new URL(asked.url ?? asked, self.location.href).href;
    return parts.has(url) ? part(url, told) : plain(asked, options);
  };
}

export async function dropOldParts() {
  const kept = await store();
  const now = new Set([...parts.keys()].map(named));
  for (const { url } of (await kept?.keys()) ?? []) if (!now.has(url)) await kept.delete(url);
}
