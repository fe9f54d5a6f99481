-- Files that end in `.tol` are ToLang, and have their language server.
vim.filetype.add({ extension = { tol = "tolang" } })
vim.lsp.enable("tolang")
