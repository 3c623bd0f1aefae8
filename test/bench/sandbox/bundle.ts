import { build } from 'esbuild';
import { BENCH_FOLDER } from '../peer.ts';
import { PACKAGES } from './code.ts';

/** Returns a script that defines `require` for the packages, for contenders without a module loader. */
export async function bundlePackages(): Promise<string> {
  const modules = PACKAGES.map((name) => `${JSON.stringify(name)}: require(${JSON.stringify(name)})`);
  const contents = `const modules = { ${modules.join(', ')} }; globalThis.require = (name) => modules[name];`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: BENCH_FOLDER },
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    logLevel: 'silent',
  });
  return (outputFiles[0] as { text: string }).text;
}
