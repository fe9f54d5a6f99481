// Starts `tolcost lsp` for ToLang, and shows derivations beside the program.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;
const shown = new Map();

async function activate(context) {
  const settings = vscode.workspace.getConfiguration("tolcost");
  const command = settings.get("command");
  const args = ["lsp", ...settings.get("specs").flatMap((folder) => ["--specs", folder])];
  const derivations = {
    provideTextDocumentContent: (uri) => shown.get(uri.path) ?? "",
  };
  context.subscriptions.push(vscode.workspace.registerTextDocumentContentProvider("tolcost", derivations));
  client = new LanguageClient("tolcost", "tolcost", { command, args }, {
    documentSelector: [{ language: "tolang" }],
    middleware: {
      executeCommand: async (name, given, next) => {
        const text = await next(name, given);
        if (name === "tolcost.explain" && text) await show(given[0], text);
        return text;
      },
    },
  });
  await client.start();
}

async function show(program, text) {
  const path = `${vscode.Uri.parse(program).path}.derivation`;
  shown.set(path, text);
  const document = await vscode.workspace.openTextDocument(vscode.Uri.from({ scheme: "tolcost", path }));
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

const deactivate = () => client?.stop();

module.exports = { activate, deactivate };
