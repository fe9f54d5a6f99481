-- ToLang by its language server: `vim.lsp.enable("tolang")`.
return {
  cmd = { "tolcost", "lsp" },
  filetypes = { "tolang" },
  root_markers = { "tolcost.toml", ".git" },
}
