import { ApiError } from '@heddle/api';
import { readSpec, specHash } from '@heddle/images';
import type { ImageSpec } from '@heddle/images';
import type { SandboxRow } from './tables.ts';

/** The specification of a sandbox in canonical form, and the id of its image; null without packages. */
export interface Specification {
  spec: ImageSpec;
  imageId: string | null;
}

/** Returns the specification in canonical form. Throws 400 with all invalid lines of the first field that has any. */
export function specificationOf(input: ImageSpec): Specification {
  const isEmpty = [input.dependencies, input.cliTools, input.systemPackages].every((lines) =>
    lines.every((line) => line.trim() === '' || line.trim().startsWith('#')),
  );
  if (isEmpty) {
    const { language } = input;
    return { spec: { language, dependencies: [], cliTools: [], systemPackages: [] }, imageId: null };
  }
  const parseResult = readSpec(input);
  if (parseResult.ok) return { spec: parseResult.spec, imageId: specHash(parseResult.spec) };
  const [firstIssue] = parseResult.issues;
  const issueField = firstIssue?.field ?? 'dependencies';
  const issues = parseResult.issues
    .filter(({ field }) => field === issueField)
    .map(({ line, value, reason }) => ({ line, value, reason }));
  throw new ApiError(400, `${issueField}, line ${firstIssue?.line}: ${firstIssue?.reason}`, {
    details: { issueField, issues },
  });
}

/** Returns the specification of a stored sandbox. */
export function storedSpecOf(row: SandboxRow): ImageSpec {
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
