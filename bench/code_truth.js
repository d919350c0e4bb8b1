// What the TypeScript compiler says is declared in the files on standard input, as
// [file, name, line]: node code_truth.js .../typescript.js < names
const fs = require('fs')
const ts = require(require('path').resolve(process.argv[2]))
const found = []

const isFunction = (node) => ts.isFunctionLike(node) && !ts.isTypeNode(node)

const listNames = (node, inFunction) => {
  if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node) ||
      ts.isEnumMember(node)) return [node.name]
  if (ts.isClassElement(node) || ts.isTypeElement(node)) {
    return ts.isObjectLiteralExpression(node.parent) ? [] : [node.name]
  }
  if (ts.isVariableDeclaration(node) && !inFunction) {
    if (ts.isIdentifier(node.name)) return [node.name]
    return node.name.elements.filter((e) => e.name && ts.isIdentifier(e.name)).map((e) => e.name)
  }
  return []
}

for (const file of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const kind = file.endsWith('.tsx') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, kind)
  const visit = (node, inFunction) => {
    for (const name of listNames(node, inFunction)) {
      if (!name) continue
      const line = source.getLineAndCharacterOfPosition(name.getStart()).line + 1
      found.push([file, name.getText(), line])
    }
    ts.forEachChild(node, (child) => visit(child, inFunction || isFunction(node)))
  }
  visit(source, false)
}
process.stdout.write(JSON.stringify(found))
