// The worker that runs tolcost: one question at a time, and of many changes only the last.
// A question that takes too long ends the worker; a new one takes its place.

const PATIENCE = 15_000;

export class Engine {
  constructor(onState, patience = PATIENCE) {
    this.onState = onState;
    this.patience = patience;
    this.number = 0;
    this.waiting = new Map();
    this.ready = false;
    this.start();
  }

  start() {
    this.ready = false;
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.onmessage = ({ data }) => this.arrived(data);
    this.worker.onerror = (event) => this.onState("broken", event.message);
    this.queue = [];
    this.busy = null;
  }

  arrived(data) {
    if (data.ready) {
      this.ready = true;
      this.onState("ready", data);
      return this.next();
    }
    if (data.total || data.step) return this.onState("loading", data);
    const job = this.busy;
    if (!job || job.id !== data.id) return;
    clearTimeout(job.timer);
    this.busy = null;
    if (data.error) job.reject(new Error(data.error));
    else job.resolve(data.answer);
    this.next();
  }

  // `lane`: a newer question of the same lane takes the place of one that still waits.
  ask(request, lane) {
    return new Promise((resolve, reject) => {
      if (lane) {
        for (const job of this.queue.filter((job) => job.lane === lane)) job.resolve(null);
        this.queue = this.queue.filter((job) => job.lane !== lane);
      }
      this.queue.push({ id: ++this.number, request, lane, resolve, reject });
      this.next();
    });
  }

  next() {
    if (!this.ready || this.busy || !this.queue.length) return;
    const job = (this.busy = this.queue.shift());
    job.timer = setTimeout(() => this.stop(job), this.patience);
    this.worker.postMessage({ id: job.id, request: job.request });
  }

  stop(job) {
    this.worker.terminate();
    const rest = this.queue;
    this.start();
    this.queue = rest;
    this.onState("stopped", (this.patience) / 1000);
    job.resolve(null);
  }
}
