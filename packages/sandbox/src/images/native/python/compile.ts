import { Readable } from 'node:stream';
import { untar } from '../archive/untar.ts';
import { TreeWriter } from '../archive/tree-writer.ts';
import type { Checker } from '../check.ts';
import { MOST } from '../limits.ts';
import { HOME } from '../tools/install-tool.ts';

/** Where compiled modules are, by the paths of their sources. */
const CACHE = `${HOME}/pycache`;

/** What nobody imports in a function. */
const LEFT_OUT = '/(tests?|idlelib|lib2to3|ensurepip|distutils|pydoc_data|tkinter|turtledemo)/';

/** Compiles what it can, and writes the result to standard output. Checked never: the image does not change. */
const SCRIPT = `
stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
export PYTHONPYCACHEPREFIX=$HOME/cache
mkdir -p $HOME/cache
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '${LEFT_OUT}' \\
  "$stdlib" /usr/lib/python3/dist-packages /${HOME}/python > /dev/null 2>&1 < /dev/null
exec tar -C $HOME/cache -cf - .
`;

/** Puts compiled modules beside those of the image: without them each run compiles what it imports. Whether it went well. */
export async function compilePython(root: string, checker: Checker): Promise<boolean> {
  const archive = await checker.outputOf(['/bin/bash', '-c', SCRIPT]);
  if (archive === null) return false;
  const writer = new TreeWriter(root, MOST, 'The compiled modules');
  await untar(Readable.from([archive], { objectMode: false }), writer, CACHE);
  return true;
}
