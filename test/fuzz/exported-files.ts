import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the exported workflows of the repository (fixtures and examples) as JSON strings. */
export function readExportedWorkflows(): string[] {
  const folders = ['../fixtures/exported/', '../../examples/', '../../examples/child-workflow/'];
  const contents = folders.flatMap((folder) => {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    return readdirSync(path)
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFileSync(path + name, 'utf8'));
  });
  // These folders also contain inputs and mocks.
  return contents.filter((text) => text.includes('"blocks"') && text.includes('"edges"'));
}
