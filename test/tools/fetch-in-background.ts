import { setPriority } from 'node:os';
import { fetchTool, getTool } from './fetch.ts';

// A process that fetches the tool that its argument names and sends the `ToolSearchResult` to its parent. It has a low
// priority, because tests run at the same time.
setPriority(10);
const name = process.argv[2] ?? '';
process.send?.(fetchTool(name, getTool(name)));
process.disconnect?.();
