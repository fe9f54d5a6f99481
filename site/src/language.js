// ToLang for CodeMirror: colours, squiggles with fixes, what each line costs, completion and hovers.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers, WidgetType,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import words from "./words.json";

const builtin = new Set([...words.primitives, ...words.functions]);
const spaces = new Set(words.spaces);
const constants = new Set(words.constants);

const tolang = StreamLanguage.define({
  name: "tolang",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^(?:#|\/\/).*/)) return "comment";
    const selects = /[\])\p{L}\p{N}_]$/u.test(stream.string.slice(0, stream.pos)); // ' behind an index: a component
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || (!selects && stream.match(/^'(?:[^'\\]|\\.)*'/))) return "string";
    if (stream.match(/^(?:operator|use|space|list|tol|static|attr)(?=[ \t]+[^\W\d])|^tol(?=[ \t]*\[)/)) return "keyword";
    if (stream.match(/^(?:and|or|xor|not)\b/)) return "operatorKeyword";
    if (stream.match(/^[0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][+-]?[0-9]+)?/)) return "number";
    const name = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
    if (name) {
      if (spaces.has(name[0])) return "typeName";
      if (constants.has(name[0])) return "atom";
      if (builtin.has(name[0])) return "builtin";
      return stream.match(/^\s*\(/, false) ? "function" : "variableName";
    }
    if (stream.match(/^(?::=|=>|==|!=|<=|>=|\.\.\.?|[=<>+\-*/%^?])/)) return "operator";
    stream.next();
    return "punctuation";
  },
  tokenTable: { builtin: tags.standard(tags.variableName), function: tags.function(tags.variableName) },
  languageData: { commentTokens: { line: "#" } },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.string, class: "tok-string" },
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: tags.operatorKeyword, class: "tok-keyword" },
  { tag: tags.number, class: "tok-number" },
  { tag: tags.typeName, class: "tok-type" },
  { tag: tags.atom, class: "tok-number" },
  { tag: tags.standard(tags.variableName), class: "tok-builtin" },
  { tag: tags.function(tags.variableName), class: "tok-function" },
  { tag: tags.operator, class: "tok-operator" },
]);

// ---- what each line costs, at its end

class Cost extends WidgetType {
  constructor(text) { super(); this.text = text; }
  eq(other) { return other.text === this.text; }
  toDOM() {
    const node = document.createElement("span");
    node.className = "line-cost";
    node.textContent = this.text;
    node.title = "elementary operations of this line, in all";
    return node;
  }
}

const setCosts = StateEffect.define();
const costs = StateField.define({
  create: () => Decoration.none,
  update(found, change) {
    found = found.map(change.changes);
    for (const effect of change.effects) {
      if (!effect.is(setCosts)) continue;
      const { doc } = change.state;
      const marks = effect.value
        .filter(({ line }) => line <= doc.lines)
        .map(({ line, text }) => Decoration.widget({ widget: new Cost(text), side: 1 }).range(doc.line(line).to));
      found = Decoration.set(marks, true);
    }
    return found;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function showCosts(view, lines) {
  view.dispatch({ effects: setCosts.of(lines) });
}

export function showDiagnostics(view, found) {
  const size = view.state.doc.length;
  const shown = found.map((one) => {
    const from = Math.min(one.from, size);
    const to = Math.min(Math.max(one.to, from + 1), size);
    return {
      from: Math.min(from, to), to, severity: one.severity, source: one.code,
      message: one.hint ? `${one.message}\n${one.hint}` : one.message,
      actions: one.fix ? [{ name: one.fix.title, apply: (target) => applyFix(target, one.fix) }] : [],
    };
  });
  view.dispatch(setDiagnostics(view.state, shown));
}

export function applyFix(view, fix) {
  view.dispatch({ changes: { from: fix.from, to: fix.to, insert: fix.text } });
  view.focus();
}

// ---- help while writing

function markdown(text) {
  const box = document.createElement("div");
  box.className = "hover";
  for (const part of text.split(/\n\n|(?<=```)\n/)) {
    const code = part.match(/^```\w*\n([\s\S]*?)\n?```\n?([\s\S]*)$/);
    if (code) {
      const pre = document.createElement("pre");
      pre.textContent = code[1];
      box.append(pre);
    }
    const rest = code ? code[2] : part;
    if (!rest.trim()) continue;
    const line = document.createElement("p");
    for (const piece of rest.split(/(\*\*.+?\*\*(?= )|`[^`]+`)/)) {
      const node = document.createElement(piece.startsWith("**") ? "b" : piece.startsWith("`") ? "code" : "span");
      node.textContent = piece.replace(/^\*\*|\*\*$|^`|`$/g, "");
      line.append(node);
    }
    box.append(line);
  }
  return box;
}

export function makeEditor(parent, text, { ask, changed, moved }) {
  const hover = hoverTooltip(async (view, at) => {
    const found = await ask({ do: "hover", text: view.state.doc.toString(), at }, "hover");
    return found?.markdown ? { pos: at, above: true, create: () => ({ dom: markdown(found.markdown) }) } : null;
  }, { hoverTime: 350 });
  const complete = async (context) => {
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]*/u);
    if (!word && !context.explicit) return null;
    const request = { do: "complete", text: context.state.doc.toString(), at: context.pos };
    const found = await ask(request, "complete");
    return found?.options ? { from: word ? word.from : context.pos, options: found.options, validFor: /^\w*$/ } : null;
  };
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), EditorView.lineWrapping, history(), drawSelection(), highlightActiveLine(), bracketMatching(), tolang,
        syntaxHighlighting(colours), lintGutter(), costs, hover,
        autocompletion({ override: [complete], activateOnTypingDelay: 200 }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.view);
          if (update.selectionSet) moved(update.view);
        }),
        EditorView.contentAttributes.of({ "aria-label": "Program", tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
      ],
    }),
  });
}
