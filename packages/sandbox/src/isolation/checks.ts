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
