import { setPriority } from 'node:os';
import { fetchTool, toolNamed } from './fetch.ts';

// Fetches the tool that its argument names and sends the `Search` to its parent. It is a process of its own with a low
// priority, because tests run meanwhile.
setPriority(10);
const name = process.argv[2] ?? '';
process.send?.(fetchTool(name, toolNamed(name)));
process.disconnect?.();
