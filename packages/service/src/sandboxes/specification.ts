import { ApiError } from '@heddle/api';
import { readSpec, specHash } from '@heddle/images';
import type { ImageSpec } from '@heddle/images';
import type { SandboxRow } from './tables.ts';

/** The specification of a sandbox in canonical form, and the id of its image; null: it has no packages. */
export interface Specification {
  spec: ImageSpec;
  imageId: string | null;
}

/** Returns the specification in canonical form. Throws 400 with all refused lines. */
export function specificationOf(given: ImageSpec): Specification {
  const isEmpty = [given.dependencies, given.cliTools, given.systemPackages].every((lines) =>
    lines.every((line) => line.trim() === '' || line.trim().startsWith('#')),
  );
  if (isEmpty) {
    const { language } = given;
    return { spec: { language, dependencies: [], cliTools: [], systemPackages: [] }, imageId: null };
  }
  const read = readSpec(given);
  if (read.ok) return { spec: read.spec, imageId: specHash(read.spec) };
  const [first] = read.issues;
  const issueField = first?.field ?? 'dependencies';
  const issues = read.issues
    .filter(({ field }) => field === issueField)
    .map(({ line, value, reason }) => ({ line, value, reason }));
  throw new ApiError(400, `${issueField}, line ${first?.line}: ${first?.reason}`, {
    details: { issueField, issues },
  });
}

/** Returns the specification of a stored sandbox. */
export function storedSpec(row: SandboxRow): ImageSpec {
  return {
    language: row.language,
    dependencies: JSON.parse(row.dependencies) as string[],
    cliTools: JSON.parse(row.cli_tools) as string[],
    systemPackages: JSON.parse(row.system_packages) as string[],
  };
}

/** Returns the columns of a specification. */
export function columnsOf({
  spec,
  imageId,
}: Specification): Pick<
  SandboxRow,
  'language' | 'dependencies' | 'cli_tools' | 'system_packages' | 'image_id'
> {
  return {
    language: spec.language,
    dependencies: JSON.stringify(spec.dependencies),
    cli_tools: JSON.stringify(spec.cliTools),
    system_packages: JSON.stringify(spec.systemPackages),
    image_id: imageId,
  };
}
