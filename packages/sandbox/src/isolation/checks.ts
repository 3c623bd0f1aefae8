import { TOOL_FOLDERS } from './host-tools.ts';
import type { IsolationCheck } from './report.ts';

export const ok = (name: string, found: string): IsolationCheck => ({ name, result: 'ok', found });

export const failed = (name: string, found: string, remedy: string): IsolationCheck => ({
  name,
  result: 'failed',
  found,
  remedy,
});

/** Whether a tool is there; `why` says what it is for. */
export function checkTool(
  tool: string,
  path: string | null,
  packageName: string,
  why: string,
): IsolationCheck {
  if (path !== null) return ok(tool, `${tool} is ${path}`);
  const where = `${tool} is not in ${TOOL_FOLDERS.join(', ')}`;
  return failed(tool, `${where}; it ${why}`, `apt install ${packageName}, or the package of your system`);
}

/** The oldest Node.js that processes run on. */
const NODE_MAJOR = 24;

/** Whether the Node.js that processes run on is new enough; null where it is. */
export function checkNode(version: string): IsolationCheck | null {
  if (Number.parseInt(version, 10) >= NODE_MAJOR) return null;
  return failed('node', `Node.js ${version} is too old`, `run the host on Node.js ${NODE_MAJOR} or newer`);
}
