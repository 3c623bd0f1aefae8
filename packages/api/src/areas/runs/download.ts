import { sanitizeFileName, filesIn, toMediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import { isApiError, notFound } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import type { Definition } from '../../ports.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { noQuery } from '../common-schemas.ts';
import { findRun } from './find.ts';
import type { FoundRun } from './find.ts';
import * as schemas from './schemas.ts';

export const downloadRunFile = operationFactory<AreaContext>()({
  id: 'downloadWorkflowRunFileV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/files/{fileId}',
  tag: 'Workflow Runs',
  summary: 'Download a file of a run’s output',
  principals: AUTHENTICATED_PRINCIPALS,
  scope: 'api:read',
  role: 'read',
  resource: workflowResource,
  audit: { resourceType: 'run_file', actions: ['FILE_DOWNLOADED'] },
  params: schemas.runFilePath,
  query: noQuery,
  success: [],
  streams: [{ type: '*/*', description: 'The content of the file, as an attachment of its media type' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, runAudited, isHead }, workflow) {
    const foundRun = await findRunIfAny(services, workflow, path.runId);
    const file = foundRun?.run && filesIn(foundRun.run.output).find(({ id }) => id === path.fileId);
    if (!file) throw notFound('File');
    if (isHead) return { raw: new Response(null, { headers: headersOf(file) }) };
    const content = await services.engine.openFile(foundRun.engineRunId, file);
    if (!content) throw notFound('File');
    const details = { workflowId: workflow.id, runId: path.runId, name: file.name };
    // The audit event is stored before the content is sent.
    await runAudited({ resourceId: file.id, details }, () => Promise.resolve());
    const lengthHeader = { 'Content-Length': String(content.bytes) };
    const body = ReadableStream.from(content.chunks()) as ReadableStream<Uint8Array<ArrayBuffer>>;
    return { raw: new Response(body, { headers: { ...headersOf(file), ...lengthHeader } }) };
  },
});

/** Returns the run; undefined for an unknown run, which is refused like an unknown file. */
async function findRunIfAny(
  services: AreaContext,
  workflow: Definition,
  runId: string,
): Promise<FoundRun | undefined> {
  try {
    return await findRun(services, workflow, runId);
  } catch (error) {
    if (isApiError(error) && error.status === 404) return undefined;
    throw error;
  }
}

/** Returns the headers of a file. A workflow can forge a record, so its values are sanitized. */
function headersOf({ name, type }: FileRecord): { [name: string]: string } {
  return {
    'Content-Type': toMediaType(type),
    'Content-Disposition': `attachment; ${fileNameParameters(sanitizeFileName(name))}`,
    // If a browser displays the file anyway, it runs no scripts and treats the file as a separate origin.
    'Content-Security-Policy': "default-src 'none'; sandbox",
  };
}

/** Returns the name in both forms of RFC 6266: in ASCII for old clients, and encoded. */
function fileNameParameters(name: string): string {
  const asciiName = name.replaceAll(/[^\w.() -]/g, '_');
  const encodedName = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${asciiName}"; filename*=UTF-8''${encodedName}`;
}
