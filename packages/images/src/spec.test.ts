import { describe, expect, it } from 'vitest';
import { CLI_TOOLS } from './grammar.ts';
import { specHash } from './keys.ts';
import { readSpec } from './spec.ts';

const readNpmSpec = (...dependencies: unknown[]) => readSpec({ language: 'javascript', dependencies });
const readPythonSpec = (...dependencies: unknown[]) => readSpec({ language: 'python', dependencies });
const readDebianSpec = (...systemPackages: unknown[]) => readSpec({ language: 'python', systemPackages });

describe('a spec', () => {
  it.each([
    ['zod'],
    ['zod@4'],
    ['zod@^4.1.0'],
    ['zod@>=4'],
    ['zod@next'],
    ['@scope/name'],
    ['@scope/name@~1.2.x'],
    ['lodash.merge'],
  ])('accepts the npm package %s', (entry) =>
    expect(readNpmSpec(entry)).toMatchObject({ ok: true, spec: { dependencies: [entry] } }),
  );

  it.each([
    ['pydantic'],
    ['pydantic==2.1.*'],
    ['pydantic>=2,<3,!=2.5'],
    ['httpx[http2,cli]~=0.27'],
    ['a===1+local'],
  ])('accepts the Python requirement %s', (entry) =>
    expect(readPythonSpec(entry)).toMatchObject({ ok: true, spec: { dependencies: [entry] } }),
  );

  it.each([['jq'], ['libc6:amd64'], ['jq=1.6-2.1'], ['g++'], ['libstdc++6']])(
    'accepts the Debian package %s',
    (entry) => expect(readDebianSpec(entry)).toMatchObject({ ok: true }),
  );

  it.each([
    ['-g', /dash/],
    ['--registry=http://x', /dash/],
    ['git+ssh://x', /URL/],
    ['git+https://x/y', /URL/],
    ['lodash; rm -rf /', /white space/],
    ['lоdash', /not an npm package/],
    ['lodash​', /character|not an npm package/],
    ['ｌodash', /not an npm package/],
    ['https://x/y.tgz', /URL/],
    ['file:../x', /a file or an alias/],
    ['npm:left@1', /a file or an alias/],
    ['workspace:*', /a file or an alias/],
    ['a b', /white space/],
    ['a;id', /character/],
    ['$(id)', /character/],
    ['a`id`', /character/],
    ['a\\b', /character/],
    ['./x', /path/],
    ['/x', /path/],
    ['~/x', /path/],
    ['a/b', /not an npm package/],
    ['@Scope/x', /not an npm package/],
    ['a@^1||2', /character/],
    ['a@^^^1', /not an npm package/],
    ['é', /not an npm package/],
  ])('refuses the npm package %s', (entry, reason) =>
    expect(readNpmSpec(entry)).toEqual({
      ok: false,
      issues: [
        { field: 'dependencies', line: 1, value: entry, reason: expect.stringMatching(reason) as string },
      ],
    }),
  );

  it.each([
    ['--index-url=http://x'],
    ['lodash; rm -rf /'],
    ['git+https://x/y'],
    ['file:../x'],
    ['rеquests'],
    ['requests​'],
    ['ｒequests'],
    ['a@1'],
    ['a==1;python_version>"3"'],
    ['a @ https://x'],
    ['-e.'],
    ['a=1'],
    ['[x]'],
    ['a['],
  ])('refuses the Python requirement %s', (entry) =>
    expect(readPythonSpec(entry)).toMatchObject({ ok: false, issues: [{ line: 1 }] }),
  );

  it.each([['jq-'], ['jq+'], ['a'], ['-y'], ['../x'], ['JQ'], ['file:x'], ['jq =1']])(
    'refuses the Debian package %s',
    (entry) =>
      expect(readDebianSpec(entry)).toMatchObject({
        ok: false,
        issues: [{ field: 'systemPackages', line: 1 }],
      }),
  );

  it('accepts each tool of the catalogue once, and no others', () => {
    const readToolSpec = (...cliTools: string[]) => readSpec({ language: 'python', cliTools });
    expect(CLI_TOOLS).toHaveLength(24);
    expect(readToolSpec(CLI_TOOLS[3], CLI_TOOLS[1])).toMatchObject({
      ok: true,
      spec: { cliTools: [CLI_TOOLS[1], CLI_TOOLS[3]] },
    });
    expect(readToolSpec(CLI_TOOLS[0], CLI_TOOLS[0])).toMatchObject({
      issues: [{ line: 2, reason: 'it is listed twice' }],
    });
    expect(readToolSpec('jq@1')).toMatchObject({ issues: [{ line: 1 }] });
    expect(readToolSpec('Kubectl', 'kubectl@1')).toMatchObject({
      issues: [1, 2].map((line) => ({
        line,
        reason: expect.stringMatching(/; the id is kubectl@\d/) as string,
      })),
    });
    expect(readToolSpec(...CLI_TOOLS.slice(0, 11))).toMatchObject({ issues: [{ line: 11 }] });
  });

  it('counts comments as lines, but not as entries', () => {
    expect(readNpmSpec('# one', '', 'ok', '-bad')).toMatchObject({ issues: [{ line: 4, value: '-bad' }] });
    const fiftyEntries = Array.from({ length: 50 }, (_, index) => `p${index}`);
    expect(readNpmSpec('# note', ...fiftyEntries)).toMatchObject({ ok: true });
    expect(readNpmSpec('# note', ...fiftyEntries, 'over', 'more')).toMatchObject({
      issues: [{ line: 52, value: 'over' }],
    });
    expect(readNpmSpec('x'.repeat(201))).toMatchObject({
      issues: [{ reason: expect.stringContaining('200') as string }],
    });
    expect(readNpmSpec(7)).toMatchObject({ issues: [{ line: 1, value: '7' }] });
    expect(readNpmSpec(...Array.from({ length: 1_001 }, () => '#'))).toMatchObject({ issues: [{ line: 0 }] });
  });

  it('is invalid without a language or anything to install', () => {
    for (const value of [null, 'x', [], { dependencies: ['a'] }, { language: 'ruby' }])
      expect(readSpec(value)).toMatchObject({ ok: false, issues: [{ field: 'language' }] });
    expect(readNpmSpec('# nothing')).toMatchObject({ ok: false, issues: [{ line: 0 }] });
  });

  it('has the same hash in every spelling', () => {
    const hashOf = (...dependencies: string[]): string => {
      const result = readPythonSpec(...dependencies);
      return result.ok ? specHash(result.spec) : '';
    };
    expect(hashOf('Typing_Extensions>=4', 'Jinja2', '# x')).toBe(
      hashOf('jinja2', 'typing-extensions>=4', 'JINJA2'),
    );
    expect(hashOf('jinja2')).not.toBe(hashOf('jinja2>=3'));
    expect(hashOf('jinja2')).toMatch(/^[0-9a-f]{64}$/);
  });
});
