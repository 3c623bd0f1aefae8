import { parse } from 'es-module-lexer/minimal/js';

/** Names under which rewritten code calls the module loader: for `import()`, and for static imports. */
export const DYNAMIC_IMPORT = '$heddleImport';
export const STATIC_IMPORT = '$heddleNames';

interface ImportClause {
  readonly namespace: string | undefined;
  /** Exported name → local name. */
  readonly names: readonly (readonly [exported: string, local: string])[];
}

const TOKEN =
  /\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*|[*{},])/uy;

/** Returns the tokens between `import` and its specifier, or undefined if an import cannot contain one of them. */
function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null) return undefined;
    if (match[1] !== undefined) tokens.push(match[1]);
  }
  return tokens;
}

const isName = (token: string | undefined): token is string =>
  token !== undefined && /^[^"'*{},]/.test(token);

/** Reads `{ a, b as c, "d" as e }` from the brace on; nothing may follow the closing brace. */
function readNames(tokens: readonly string[]): [string, string][] | undefined {
  const names: [string, string][] = [];
  let index = 1;
  while (tokens[index] !== '}') {
    const exportedName = tokens[index++];
    if (exportedName === undefined || /^[*{},]/.test(exportedName)) return undefined;
    const isRenamed = tokens[index] === 'as';
    const localName = isRenamed ? tokens[index + 1] : exportedName;
    if (isRenamed) index += 2;
    if (!isName(localName)) return undefined;
    names.push([isName(exportedName) ? exportedName : unquote(exportedName), localName]);
    if (tokens[index] === ',') index++;
    else if (tokens[index] !== '}') return undefined;
  }
  return index === tokens.length - 1 ? names : undefined;
}

/** Returns the content of a string literal; escapes are not decoded. */
function unquote(literal: string): string {
  return literal.slice(1, -1);
}

/** Reads `* as name` or `{ … }`, and nothing else. */
function readBindings(tokens: readonly string[]): ImportClause | undefined {
  if (tokens[0] === '{') {
    const names = readNames(tokens);
    return names === undefined ? undefined : { namespace: undefined, names };
  }
  const [star, as, local] = tokens;
  const isNamespaceImport = tokens.length === 3 && star === '*' && as === 'as' && isName(local);
  return isNamespaceImport ? { namespace: local, names: [] } : undefined;
}

/** Returns the bindings of a static import, or undefined for unknown syntax, which the compiler then reports. */
function readClause(text: string): ImportClause | undefined {
  const tokens = tokensOf(text);
  if (tokens === undefined) return undefined;
  if (tokens.length === 0) return { namespace: undefined, names: [] };
  if (tokens.pop() !== 'from') return undefined;
  const [firstToken] = tokens;
  if (!isName(firstToken)) return readBindings(tokens);
  const defaultBinding = ['default', firstToken] as const;
  if (tokens.length === 1) return { namespace: undefined, names: [defaultBinding] };
  const bindings = tokens[1] === ',' ? readBindings(tokens.slice(2)) : undefined;
  return bindings === undefined ? undefined : { ...bindings, names: [defaultBinding, ...bindings.names] };
}

/** Returns a statement that replaces an import: it binds the same names on the same number of lines. */
function statementOf({ namespace, names }: ImportClause, specifier: string): string {
  const exportedNames = JSON.stringify(names.map(([exported]) => exported));
  const call = `${STATIC_IMPORT}(${specifier}, ${exportedNames})`;
  const pattern = names.map(([exported, local]) => `${JSON.stringify(exported)}: ${local}`).join(', ');
  if (namespace === undefined) return names.length === 0 ? `${call};` : `const { ${pattern} } = ${call};`;
  return `const ${namespace} = ${call}${names.length === 0 ? '' : `, { ${pattern} } = ${namespace}`};`;
}

/** Returns the code with imports replaced by calls; the same text if it has no imports or does not parse. */
export function rewriteImports(code: string): string {
  let imports;
  try {
    [imports] = parse(code);
  } catch {
    // The compiler reports syntax errors better.
    return code;
  }
  let rewrittenCode = '';
  /** The code before this position has been copied or replaced. */
  let position = 0;
  // The lexer's fields: `t` is 1 for a static import and 2 for `import()`, `s` and `e` delimit the specifier without
  // its quotes, `ss` and `se` the statement.
  for (const { t: type, s: specifierStart, e: specifierEnd, ss: start, se: end } of imports) {
    if (type === 2) {
      rewrittenCode += code.slice(position, start) + DYNAMIC_IMPORT;
      position = start + 'import'.length;
    } else if (type === 1) {
      const clause = readClause(code.slice(start + 'import'.length, specifierStart - 1));
      if (clause === undefined) continue;
      const lineBreaks = code.slice(start, end).replace(/[^\n\r\u2028\u2029]/g, '');
      const specifier = code.slice(specifierStart - 1, specifierEnd + 1);
      rewrittenCode += code.slice(position, start) + statementOf(clause, specifier) + lineBreaks;
      position = end;
    }
  }
  return rewrittenCode + code.slice(position);
}
