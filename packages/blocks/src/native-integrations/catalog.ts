import type { NativeIntegration } from './native-integration.ts';

type Loader = () => Promise<{ integration: NativeIntegration }>;

const loadFile: Loader = () => import('./file/file.ts');

/**
 * The integrations with a client library or with data of the host, by the types of their blocks. Each loads at its
 * first use.
 */
const LOADERS_BY_TYPE: { readonly [type: string]: Loader } = {
  file: loadFile,
  file_v2: loadFile,
  file_v3: loadFile,
  file_v4: loadFile,
  file_v5: loadFile,
  knowledge: () => import('./knowledge/knowledge.ts'),
  postgresql: () => import('./postgresql/postgresql.ts'),
  s3: () => import('./s3/s3.ts'),
};

/** Block types of these integrations. */
export const nativeIntegrationTypes: readonly string[] = Object.keys(LOADERS_BY_TYPE);

/** Returns the integration of a block type; undefined if there is none. */
export async function nativeIntegrationOf(type: string): Promise<NativeIntegration | undefined> {
  const load = Object.hasOwn(LOADERS_BY_TYPE, type) ? LOADERS_BY_TYPE[type] : undefined;
  return (await load?.())?.integration;
}
