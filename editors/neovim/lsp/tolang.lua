-- ToLang by its language server, which `pip install '.[lsp]'` brings.
return {
  cmd = { "tolcost", "lsp" },
  filetypes = { "tolang" },
  root_markers = { "tolcost.toml", ".git" },
}
