import './node-version.ts';

/** For image builders: confined processes, and the programs that load packages within the limits of a run. */
export { Isolation } from './isolation/isolation.ts';
export type { Confinement } from './isolation/confine.ts';
export type { Program } from './isolation/program.ts';
export { setprivArguments, findTool, prlimitArguments } from './isolation/host-tools.ts';
export { findUnreadablePath } from './isolation/users.ts';
export { minimalRootFileSystem } from './isolation/libraries.ts';
export { killOrphanedProcesses, freeProcessUid, takeProcessUid } from './isolation/process-uid.ts';
export { NativeHost } from './native/host.ts';
export { BOOT_FOLDER } from './native/jail.ts';
export { JAIL_PATHS, jailEnvironment, PROXY_PORT } from './native/layout.ts';
export { NATIVE_LIMITS } from './native/limits.ts';
export { EgressProxy } from './native/proxy.ts';
export { kernelCpuSeconds, runProcessTree, type ProcessTreeEnd } from './native/process-tree.ts';
export type { NativeJob } from './guest/native/job.ts';
export { readObject } from './failure.ts';
export { PYTHON_LIMITS, resolveLimits } from './limits.ts';
export { launch } from './pool/launch.ts';
export {
  JAVASCRIPT_IMAGE_FILE,
  javascriptImageProgram,
  PYTHON_FILES,
  PYTHON_IMAGE_FILE,
  pythonImageProgram,
  SHIMS_FILE,
} from './programs.ts';
export { BUILTIN_NAMES } from './builtins.ts';
export {
  readReport,
  type ImageRequest,
  type ImageReport,
  type ModuleFailure,
  type PythonModuleFailure,
  type PythonRequest,
  type PythonReport,
} from './image-protocol.ts';
