import { describe, expect, it } from 'vitest';
import { bindCode } from './bind.ts';
import { compileCode } from './code.ts';
import type { Json } from '../json.ts';
import type { Lookup } from './lookup.ts';
import { buildNames, type NamedBlock } from './names.ts';

const block = (id: string, name = id, properties: Partial<NamedBlock> = {}): NamedBlock => ({
  id,
  name,
  type: 'function',
  enabled: true,
  ...properties,
});
const names = buildNames(
  [
    block('p'),
    block('q'),
    block('year'),
    block('my', 'My First Block'),
    block('ab', 'A+B'),
    block('L', 'L', { type: 'loop' }),
    block('f', 'F', { parentId: 'L' }),
  ],
  [{ id: 'v', name: 'My Var' }],
);

const env: Record<string, string> = { K: 'a"b\'c`d\n${e}\\', N: '5', W: 'w' };

function lookup(result: Json): Lookup {
  return {
    block: () => ({ ran: true, output: { result } }),
    container: () => ({ index: 3 }),
    results: () => undefined,
    variable: () => result,
    env: (name) => env[name],
    describe: () => ({ name: 'P', type: 'function' }),
  };
}

const compile = (code: string) =>
  compileCode(code, 'javascript', { names, blockId: 'f', fieldPosition: 'ordinary' });

type AsyncFunctionConstructor = new (...source: string[]) => (...values: unknown[]) => Promise<unknown>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as AsyncFunctionConstructor;

/** Runs authored code like the sandbox: each identifier is bound to a value. */
async function run(authored: string, result: Json = null): Promise<unknown> {
  const { code, values } = bindCode(compile(authored).code, lookup(result));
  const args = Object.values(values).map((json) => JSON.parse(json) as unknown);
  return new AsyncFunction(...Object.keys(values), code)(...args);
}

const hostileText = 'a"b\'c`d\n\\e${f}';
const json = JSON.stringify(hostileText);

describe('a reference in JavaScript', () => {
  it.each<[string, unknown]>([
    ['return <p.result>', hostileText],
    ['return<p.result>', hostileText],
    ['return [...<p.result>].length', 14],
    ['return <p.result>?.length ?? null', 14],
    ['return <p.result> === <p.result>', true],
    ['const v = <p.result>; return v', hostileText],
    ['const a = 1\n<p.result>.at(0)\nreturn a', 1],
    ['if (true) <p.result>.at(0); return 1', 1],
    ['return "x" in {} ? 1 : <p.result>', hostileText],
    ['return typeof<p.result>', 'string'],
    ['return `${<p.result>}`', hostileText],
    ['return `${`${<p.result>}`}`', hostileText],
    ['return {a: <p.result>, b: [<p.result>, 1]}', { a: hostileText, b: [hostileText, 1] }],
    ['return {<p.result>: 1}', { [hostileText]: 1 }],
    ['return <variable.My Var>', hostileText],
    ['return <My First Block.result>', hostileText],
    ['return <variable.My Var>.length / 2 / 1', 7],
  ])('%s is its value (V8, V32-V41)', async (code, expected) => {
    expect(await run(code, hostileText)).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['return "<p.result>"', json],
    ["return '<p.result>'", json],
    ['return "a <p.result> b"', `a ${json} b`],
    ['return "\\"<p.result>"', `"${json}`],
    ['return `<p.result>`', json],
    ['return `$<p.result>\\${<p.result>}`', `$${json}\${${json}}`],
    ['return `a ${`b <p.result>`} c <p.result>`', `a b ${json} c ${json}`],
    ['return ["<My First Block.result>".length, "x" + "<My First Block.result>"]', [`${json}0`, `x${json}`]],
    ['return ["<variable.My Var>", `<variable.My Var>`]', [json, json]],
    ['return "<p.result><p.result>"', json + json],
    ['return \'<p.result>\' + "\\\n<p.result>"', json + json],
  ])('%s inserts its JSON text', async (code, expected) => {
    expect(await run(code, hostileText)).toEqual(expected);
  });

  it.each<[Json, string]>([
    [42, '42'],
    [{ a: "x'y" }, '{"a":"x\'y"}'],
    [null, 'null'],
    [false, 'false'],
  ])('in quotes, a value of %j is the text %s', async (value, text) => {
    expect(await run('return ["<p.result>", `<p.result>`]', value)).toEqual([text, text]);
  });

  it('is pattern text in a regular expression', async () => {
    expect(await run('return "xa.cx".match(/x(<p.result>)x/i)[1]', 'A.C')).toBe('a.c');
    expect(await run('return /[/<p.result>]\\/(?<year>.)\\k<year>/.test("b/ii")', 'ab')).toBe(true);
    expect(await run('return /<p.result>/.source', 5)).toBe('5');
  });

  it('is not replaced in a regular expression if a line ends after a backslash: such code does not compile', () => {
    const text = '*/<p.result>\\\n/';
    expect(compile(text).code.code.split('\n')).toHaveLength(2);
  });

  it('has no effect in comments, and cannot fail there', async () => {
    const code = '// <p.result> "\n/* <loop.foo> {{K}} ` */ return 1 /* <L.none> */ // <p.result>';
    expect(await run(code, hostileText)).toBe(1);
    expect(compile(code).code).toMatchObject({ code, bindings: [] });
  });

  it('is a syntax error as an object key in quotes (r328)', async () => {
    await expect(run('return {"<p.result>": 1}', hostileText)).rejects.toThrow(SyntaxError);
  });

  it('has its own binding at every occurrence, with a name that the code does not use', () => {
    const { code } = compile(
      'let __heddle_0_, __heddle__heddle0_, __heddle2_; return [<p.result>, <p.result>]',
    );
    expect(code.code).toMatch(/\[__heddle1_0_, __heddle1_1_\]$/);
    expect(code.bindings.map(({ name }) => name)).toEqual(['__heddle1_0_', '__heddle1_1_']);
  });

  it('keeps every line', () => {
    const authored =
      'const a = <p.result>;\n\n`x <p.result>\n${<p.result>}\n`;\r\n/a<p.result>/\n"<p.result>" // <p.result>\n/*\n*/ {{K}}';
    expect(compile(authored).code.code.split('\n')).toHaveLength(authored.split('\n').length);
  });
});

describe('text that is not a reference in JavaScript', () => {
  it.each([
    'const a = 1, b = 5; return [a < 2 && b > 3, a<b, b>a, 1 <2, [1,2].filter(x => x<2 || x>9)]',
    'const p = {result: 3}, i = 1, c = 2; return [i<p.result&&c>0, i <p.result || c> 9, (i)<p.result&&c>0]',
    'const q = [1]; let n = 0; for (let i = 0; i <q.length; i++) { if (n > 5) break; n += 1 } return n',
    'return "<b>bold</b> <br/> <div class=\\"x\\">"',
    'return "<nosuch.result>"',
    'return `<nosuch.result> ${1} <loop.nosuch`',
    'return {a: {b: {}}}',
    'return {a:{b:{c:1}}}',
    'return 1 / 2 / "<".length',
    'let x = 4; return x++ / 2 + "/<" + x / 2',
    'return [/[/"\'`]/.test("`"), 3 /1/ 1]',
    'return ((a) => { return a })(1) / 1',
    'if (1) /"/.test("a"); return 1',
    'return "\\<p.result>"',
    'return "\\{{K}}"',
  ])('%s is unchanged and keeps its meaning', async (code) => {
    const compiled = compile(code);
    expect(compiled.code).toMatchObject({ code, bindings: [] });
    expect(compiled.findings.filter(({ syntaxPosition }) => syntaxPosition === 'code')).toEqual([]);
    expect(await run(code)).toEqual(await new AsyncFunction(code)());
  });

  it('a malformed tag of a known block reads as undefined (r298, r356)', async () => {
    expect(await run('return [<p.result.odd key>, `<a+b.result>`]')).toEqual([undefined, 'undefined']);
    expect(await run('return ["<a+b.result>".length, "x" + "<a+b.result>"]')).toEqual([9, 'xundefined']);
  });

  it('a tag with spaces inside the brackets is text, here a syntax error (r304)', async () => {
    await expect(run('return [< p.result.a >]')).rejects.toThrow(SyntaxError);
  });

  it('a literal that is not closed is unchanged, so that it fails', async () => {
    for (const code of [
      'return "<p.result>',
      'return `<p.result>',
      'return "a\n<p.result>"',
      "return '<p.result>",
    ]) {
      await expect(run(code, 1)).rejects.toThrow(SyntaxError);
    }
  });
});

describe('findings in JavaScript', () => {
  const findingsOf = (code: string) =>
    compile(code).findings.map(({ kind, name, syntaxPosition }) => `${kind} ${name} ${syntaxPosition}`);

  it('an unknown root as an operand is reported, with or without a path', () => {
    expect(findingsOf('return <nosuch.x> + <nosuch> + <variable.ghost>')).toEqual([
      'unknown-block nosuch code',
      'unknown-block nosuch code',
      'unknown-variable ghost code',
    ]);
  });

  it('in strings and comments, only roots with a path are reported; variables in comments are not', () => {
    expect(findingsOf('"<nosuch.x> <b> <variable.ghost>" // <far.x> <b> <variable.ghost>')).toEqual([
      'unknown-block nosuch string',
      'unknown-variable ghost string',
      'unknown-block far comment',
    ]);
  });

  it('comparisons are not reported', () => {
    expect(findingsOf('a<b.c&&d>e; f(a <b.c, d> e); if (a) x<y.z>w')).toEqual([]);
  });

  it('<loop.index> is reported only outside all loops', () => {
    const resultOutsideLoops = compileCode('return <loop.index>', 'javascript', {
      names,
      blockId: 'p',
      fieldPosition: 'ordinary',
    });
    expect(findingsOf('return <loop.index>')).toEqual([]);
    expect(resultOutsideLoops.findings).toMatchObject([
      { kind: 'unknown-block', name: 'loop', syntaxPosition: 'code' },
    ]);
  });
});

describe('a container reference without a value', () => {
  it('stays text inside quotes and fails the block outside quotes (r431, r550)', async () => {
    expect(await run('return ["<loop.results>", `<loop.item>`, <loop.index>]')).toEqual([
      '<loop.results>',
      '<loop.item>',
      3,
    ]);
    await expect(run('return <loop.item>')).rejects.toMatchObject({ code: 'REFERENCE_UNRESOLVED' });
    await expect(run('return "<loop.foo>"')).rejects.toMatchObject({ code: 'REFERENCE_UNRESOLVED' });
  });
});

describe('a placeholder in JavaScript', () => {
  it.each<[string, unknown]>([
    ['return {{K}}', env.K],
    ['return "{{K}}"', env.K],
    ["return '{{K}}'", env.K],
    ['return `x {{K}}`', `x ${env.K}`],
    ['return "a" + {{K}}', `a${env.K}`],
    ['return {{N}} + 1', '51'],
    ['return "{{W}}-{{N}}"', 'w-5'],
    ['return "{{ W }}"', 'w'],
    ['return "{{W}},x".split(",")', ['w', 'x']],
    ['return {"{{W}}": 1}', { w: 1 }],
    ['return "{{W}}".length * 2', 2],
    ['return /^{{W}}$/.test("w")', true],
    ['return {a:{{N}}}', { a: '5' }],
    ['const a = 1\n"{{W}}".length\nreturn a', 1],
    ['return ["<p.result> {{W}}"]', ['null w']],
  ])('%s is a string constant (r392-r405)', async (code, expected) => {
    expect(await run(code)).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['return "{{NOPE}}"', '{{NOPE}}'],
    ['return `{{NOPE}} ${1}`', '{{NOPE}} 1'],
    ['const b = 2; {{b}}; return b', 2],
    ['const K2 = {a: 1}; return `${{a: 1}.a}`', '1'],
    ['return /a{2}{{NOPE}}/.source', 'a{2}{{NOPE}}'],
  ])('%s keeps an unknown name', async (code, expected) => {
    expect(await run(code)).toEqual(expected);
  });

  it('an unknown name without quotes is a syntax error (r398)', async () => {
    await expect(run('return {{NOPE}}')).rejects.toThrow(SyntaxError);
    const boundCode = bindCode(compile('return {{NOPE}} + {{K}}').code, lookup(null));
    expect(boundCode.code).toMatch(/^return \{\{NOPE\}\} \+ __heddle_1_$/);
    expect(Object.keys(boundCode.values)).toEqual(['__heddle_1_']);
  });

  it('never puts its value into the code itself', () => {
    const boundCode = bindCode(compile('return "{{K}}" + {{K}} + `{{K}}` + /{{K}}/').code, lookup(null));
    expect(boundCode.code).not.toContain('a"b');
  });
});
