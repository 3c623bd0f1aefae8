import { describe, expect, it } from 'vitest';
import { bindCode } from './bind.ts';
import { compileCode } from './code.ts';
import type { Lookup } from './lookup.ts';
import { buildNames, type NamedBlock } from './names.ts';

const block = (id: string, name = id): NamedBlock => ({ id, name, type: 'function', enabled: true });
const names = buildNames([block('p'), block('my', 'My Block')], [{ id: 'v', name: 'v' }]);
const compile = (code: string) =>
  compileCode(code, 'python', { names, blockId: 'p', fieldPosition: 'ordinary' });

const lookup: Lookup = {
  block: () => ({ ran: true, output: { x: "it's" } }),
  container: () => undefined,
  results: () => undefined,
  variable: () => 5,
  env: (name) => (name === 'K' ? 'secret' : undefined),
  describe: () => ({ name: 'P', type: 'function' }),
};

/** Returns the code with short names for its bindings, and their forms. */
function codeOf(authored: string): [string, ...string[]] {
  const { code } = compile(authored);
  return [code.code.replaceAll(/__heddle_(\d+)_/g, '@$1'), ...code.bindings.map(({ form }) => form)];
}

describe('a reference in Python', () => {
  it.each<[string, [string, ...string[]]]>([
    ['return <p.x>', ['return @0', 'value']],
    ['return<p.x>', ['return @0', 'value']],
    ['a = [<My Block.x>, <variable.v>]', ['a = [@0, @1]', 'value', 'value']],
    ['x = 1\n<p.x>.append(2)', ['x = 1\n@0.append(2)', 'value']],
    ['if a and <p.x> not in <p.y>: pass', ['if a and @0 not in @1: pass', 'value', 'value']],
    ['x = "<p.x>"', ['x = "" + @0 + ""', 'json']],
    ["x = 'a <p.x> b'", ["x = 'a ' + @0 + ' b'", 'json']],
    ['x = "a" "<p.x>" \'c\'', ['x = "a" "" + @0 + "" \'c\'', 'json']],
    ['x = r"\\d<p.x>\\s"', ['x = r"\\d" + @0 + r"\\s"', 'json']],
    ["x = rb'a<p.x>'", ["x = (rb'a' + @0.encode() + rb'')", 'json']],
    ['x = """a\n<p.x>\n"b"""', ['x = """a\n""" + @0 + """\n"b"""', 'json']],
    ['x = """say "<p.x>" now"""', ['x = """say \\"""" + @0 + """" now"""', 'json']],
    ["x = r'''say ''<p.x>'''", ["x = r'''say ''' \"''\" + @0 + r''''''", 'json']],
    [
      'x = f"a <p.x> {<p.y>!r:>{w}} {b[\'<p.x>\']}"',
      ["x = f\"a {@0} {@1!r:>{w}} {b['' + @2 + '']}\"", 'json', 'value', 'json'],
    ],
    ['x = "\\"<p.x>"', ['x = "\\"" + @0 + ""', 'json']],
  ])('%s is bound (V9, V32-V41)', (authored, expected) => {
    expect(codeOf(authored)).toEqual(expected);
  });

  it.each([
    '# <p.x> "\nx = 1',
    'x = 1 # <p.x>',
    'if a <b.c and d> 3: pass',
    'x = a <b> c',
    'x = f"{a:<10} text {b:>5} {{literal braces}}"[1:]',
    'x = f"{a:{w}<{h}>}"',
    'x = "<nosuch.x> <b>"',
    'x = "\\<p.x>"',
    'x = < p.x >',
    'x = {"a": {"b": {}}}',
    'x = "never closed <p.x>\ny = 2',
    "x = '''never closed <p.x>",
    'x = [c for c in d if c <e.f(1) and g> 0]',
  ])('%j is unchanged', (authored) => {
    const { code, findings } = compile(authored);
    expect(code.bindings.filter((binding) => 'ref' in binding)).toEqual([]);
    expect(findings.filter(({ syntaxPosition }) => syntaxPosition === 'code')).toEqual([]);
    expect(code.code.replace(/\{__heddle_0_\}/, '{{literal braces}}')).toBe(authored);
  });

  it('has its own copy at every occurrence (V42), which is null if the reference is empty', () => {
    const { values } = bindCode(compile('[<p.x>, <p.x>, <p.none>, "<p.x>"]').code, lookup);
    expect(Object.values(values)).toEqual(['"it\'s"', '"it\'s"', 'null', '"\\"it\'s\\""']);
  });

  it('keeps every line', () => {
    const authored = 'a = """x\n<p.x>\n\n"""\nb = f"""\n{<p.x>\n}"""\n# <p.x>\nc = <p.x>\n';
    expect(compile(authored).code.code.split('\n')).toHaveLength(authored.split('\n').length);
  });

  it('to an unknown name is reported: in code in any form, in strings and comments only with a path', () => {
    const { findings } = compile('x = <nosuch>\ny = "<far.x> <b>" # <away.x> <i>');
    expect(findings.map(({ name, syntaxPosition }) => `${name} ${syntaxPosition}`)).toEqual([
      'nosuch code',
      'far string',
      'away comment',
    ]);
  });
});

describe('a placeholder in Python', () => {
  it.each<[string, [string, ...string[]]]>([
    ['x = {{K}}', ['x = @0', 'text']],
    ['x = "{{ K }}".split(",")', ['x = ("" + @0 + "").split(",")', 'text']],
    ['x = "a" "{{K}}"', ['x = "a" "" + @0 + ""', 'text']],
    ['x = "{{K}}" "b"', ['x = "" + @0 + "" "b"', 'text']],
    ['x = {"{{K}}": 1}', ['x = {("" + @0 + ""): 1}', 'text']],
    ['x = f"a {{K}} {b}"', ['x = f"a {@0} {b}"', 'text']],
  ])('%s is a string constant', (authored, expected) => {
    expect(codeOf(authored)).toEqual(expected);
  });

  it('of an unknown name reads as authored, even in f-strings', () => {
    const boundCode = bindCode(compile('f"{{literal}} {{K}}", "{{NOPE}}", {{NOPE}}').code, lookup);
    expect(boundCode.code).toBe('f"{{literal}} {__heddle_1_}", ("" + __heddle_2_ + ""), {{NOPE}}');
    expect(boundCode.values).toEqual({ __heddle_1_: '"secret"', __heddle_2_: '"{{NOPE}}"' });
  });
});
