import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import { arg, data, defineIntegration, integer, text } from './integration.ts';
import { googleErrors } from './google.ts';

const fileId = text('Id of the file', { required: true, fields: ['fileId', 'manualFileId'] });
const fileName = text('Name of the resulting run file; default: the name of the file in Drive', {
  fields: ['fileName'],
});
const LIST_QUERY = { fields: 'nextPageToken,files(id,name,mimeType,size,webViewLink,modifiedTime)' };

/** Returns the arguments with the content as `file`. The default of `name` is the name of the file. */
function withFile(args: JsonObject): JsonObject {
  const { file: input, content, name, ...otherArgs } = args;
  if ((input === undefined) === (content === undefined))
    throw new ArgumentError('it needs either "file" or "content"');
  if (Array.isArray(input) && input.length !== 1)
    throw new ArgumentError(`"file" has ${input.length} files, but only one can be stored at a time`);
  const [firstFile = null] = Array.isArray(input) ? input : [input];
  const file = firstFile ?? {
    base64: Buffer.from(plainText(content ?? '')).toString('base64'),
    type: 'text/plain',
  };
  const inputName = isJsonObject(file) && typeof file['name'] === 'string' ? file['name'] : 'file.txt';
  return { ...otherArgs, file, name: name ?? inputName };
}

export const integration = defineIntegration({
  service: 'google_drive',
  title: 'Google Drive',
  docsUrl: 'https://developers.google.com/workspace/drive/api/reference/rest/v3',
  baseUrl: 'https://www.googleapis.com',
  credential: { type: 'bearer', scopes: ['https://www.googleapis.com/auth/drive'] },
  answer: googleErrors,
  types: ['google_drive'],
  operations: {
    list: 'google_drive_list',
    get_file: 'google_drive_get_file',
    upload: 'google_drive_upload',
    download: 'google_drive_download',
    export: 'google_drive_export',
    create_folder: 'google_drive_create_folder',
    delete: 'google_drive_delete',
  },
  tools: {
    google_drive_list: {
      description: 'Lists files.',
      method: 'GET',
      path: '/drive/v3/files',
      query: LIST_QUERY,
      arguments: {
        q: text("Search query, such as: name contains 'report' and trashed = false", { fields: ['query'] }),
        pageSize: integer('Number of files per page, up to 1000', [1, 1000]),
        pageToken: text('Cursor of the page to fetch, from the field "nextPageToken" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'files', cursor: 'nextPageToken', argument: 'pageToken', pages: 5 },
      answer: { output: { files: 'files' } },
    },
    google_drive_get_file: {
      description: 'Returns the metadata of a file, without its content.',
      method: 'GET',
      path: '/drive/v3/files/{fileId}',
      query: { fields: 'id,name,mimeType,size,webViewLink,modifiedTime,parents' },
      arguments: { fileId },
    },
    google_drive_upload: {
      description: 'Stores a file of any size.',
      method: 'POST',
      path: '/upload/drive/v3/files',
      query: { uploadType: 'resumable', fields: 'id,name,mimeType,size,webViewLink,modifiedTime,parents' },
      arguments: {
        file: data({ type: ['object', 'array'] }, 'A run file, or an object {base64, name, type}', {
          fields: ['file', 'fileUpload', 'fileReference'],
        }),
        content: text('Text to store, instead of a file'),
        name: text('Name of the file in Drive; default: the name of the uploaded file', {
          fields: ['fileName'],
        }),
        mimeType: text(
          'Media type of the file in Drive. To convert the file, set the type of a Google document, such as application/vnd.google-apps.document',
          {
            schema: { maxLength: 200 },
          },
        ),
        folderId: text('Id of the folder in which the file is stored', {
          fields: ['folderId', 'folderSelector', 'manualFolderId'],
        }),
      },
      json: { name: arg('name'), mimeType: arg('mimeType'), parents: [arg('folderId')] },
      prepare: withFile,
      upload: { type: 'resumable', argument: 'file' },
    },
    google_drive_download: {
      description:
        'Downloads a file as a run file. A Google document cannot be downloaded; export the document instead.',
      method: 'GET',
      path: '/drive/v3/files/{fileId}',
      query: { alt: 'media' },
      arguments: { fileId, name: fileName },
      answer: { file: { above: 0, name: 'name' }, output: { file: 'file' } },
    },
    google_drive_export: {
      description:
        'Converts a Google document to another format and returns the result, of up to 10 MB, as a run file.',
      method: 'GET',
      path: '/drive/v3/files/{fileId}/export',
      arguments: {
        fileId,
        name: fileName,
        mimeType: text('Media type of the result, such as application/pdf or text/csv', {
          required: true,
          fields: ['mimeType', 'exportMimeType'],
          in: 'query',
        }),
      },
      answer: { file: { above: 0, name: 'name' }, output: { file: 'file' } },
    },
    google_drive_create_folder: {
      description: 'Creates a folder.',
      method: 'POST',
      path: '/drive/v3/files',
      arguments: {
        name: text('Name of the folder', { required: true, fields: ['fileName'] }),
        parents: data({ type: 'array', items: { type: 'string' } }, 'List with the id of the parent folder'),
      },
      json: { name: arg('name'), mimeType: 'application/vnd.google-apps.folder', parents: arg('parents') },
    },
    google_drive_delete: {
      description: 'Deletes a file permanently, without moving it to the trash.',
      method: 'DELETE',
      path: '/drive/v3/files/{fileId}',
      arguments: { fileId },
      // A repeated call fails with 404.
      idempotent: false,
    },
  },
});
