import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddle, type CommandResult, type RunningCommand } from '../support/heddle.ts';
import { openTestNpmRegistry, type NpmRegistry } from '../support/npm-registry.ts';

const GREETER = { name: 'greeter', files: { 'index.js': 'exports.greet = (name) => `Hello ${name}!`;' } };

export const SPEC = { name: 'greetings', language: 'javascript', dependencies: ['greeter@^1'] };

/** A new folder, and functions that run `heddle sandbox` in it. */
export interface SandboxFolder {
  cwd: string;
  registry: NpmRegistry;
  /** Runs `heddle sandbox` with these arguments until it exits. */
  runSandbox(...args: string[]): Promise<CommandResult>;
  /** Starts `heddle sandbox` with these arguments. */
  startSandbox(...args: string[]): RunningCommand;
}

/** Creates a folder with files, and starts a package registry that the commands use. */
export async function createSandboxFolder(files: Readonly<Record<string, string>>): Promise<SandboxFolder> {
  const cwd = createDataFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const registry = await openTestNpmRegistry([GREETER]);
  const options = { cwd, env: { npm_config_registry: registry.url, npm_config_fetch_retries: '0' } };
  return {
    cwd,
    registry,
    runSandbox: (...args) => runHeddle(['sandbox', ...args], options),
    startSandbox: (...args) => startHeddle(['sandbox', ...args], options),
  };
}
