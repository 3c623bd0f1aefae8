import { pythonBuilder } from '../../../packages/images/src/python/builder.ts';
import type { ImageRecord, Images, Registries } from '@heddle/images';
import { createSandbox, type FunctionOutcome, type Sandbox } from '@heddle/sandbox';
import { onTestFinished } from 'vitest';
import { openImages } from '../images.ts';

/** A Python image that was built for a test, with a sandbox. */
export interface BuiltImage {
  readonly record: ImageRecord;
  readonly images: Images;
  /** Runs code in a sandbox with the image. Each call is a separate run. */
  run(code: string): Promise<FunctionOutcome>;
}

/** Builds an image with the dependencies. Throws if the build fails. */
export async function buildPythonImage(
  dependencies: readonly string[],
  python: NonNullable<Registries['python']>,
): Promise<BuiltImage> {
  const images = openImages({ python: pythonBuilder() }, { registries: { python } });
  const record = await images.build({ language: 'python', dependencies });
  const { imageId } = record;
  if (imageId === null) throw new Error(`${record.errorCode}: ${record.errorMessage}\n${record.errorDetail}`);
  const sandbox: Sandbox = createSandbox({ images });
  onTestFinished(() => sandbox.close());
  let runCount = 0;
  return {
    record,
    images,
    run: (code) => sandbox.run({ runId: `run-${++runCount}`, language: 'python', image: imageId, code }),
  };
}
