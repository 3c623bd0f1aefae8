import { arg, data, defineIntegration, integer, text } from './integration.ts';

const fileId = text('Id of the file', { required: true, fields: ['fileId', 'manualFileId'] });
const FIELDS = { fields: 'nextPageToken,files(id,name,mimeType,size,webViewLink,modifiedTime)' };

export const integration = defineIntegration({
  service: 'google_drive',
  title: 'Google Drive',
  docs: 'https://developers.google.com/workspace/drive/api/reference/rest/v3',
  address: 'https://www.googleapis.com',
  credential: { type: 'bearer', scopes: ['https://www.googleapis.com/auth/drive'] },
  answer: { error: 'error.message' },
  types: ['google_drive'],
  operations: {
    list: 'google_drive_list',
    get_file: 'google_drive_get_file',
    create_folder: 'google_drive_create_folder',
    delete: 'google_drive_delete',
  },
  tools: {
    google_drive_list: {
      description: 'Lists files.',
      method: 'GET',
      path: '/drive/v3/files',
      query: FIELDS,
      arguments: {
        q: text("A search such as: name contains 'report' and trashed = false", { fields: ['query'] }),
        pageSize: integer('Files of a page, up to 1000', [1, 1000]),
        pageToken: text('The nextPageToken of the page before', { fields: [] }),
      },
      paging: { items: 'files', cursor: 'nextPageToken', argument: 'pageToken', pages: 5 },
      answer: { output: { files: 'files' } },
    },
    google_drive_get_file: {
      description: 'Returns what Drive knows about a file, without its content.',
      method: 'GET',
      path: '/drive/v3/files/{fileId}',
      query: { fields: 'id,name,mimeType,size,webViewLink,modifiedTime,parents' },
      arguments: { fileId },
    },
    google_drive_create_folder: {
      description: 'Creates a folder.',
      method: 'POST',
      path: '/drive/v3/files',
      arguments: {
        name: text('The name', { required: true, fields: ['fileName'] }),
        parents: data({ type: 'array', items: { type: 'string' } }, 'Id of the folder above, in a list'),
      },
      json: { name: arg('name'), mimeType: 'application/vnd.google-apps.folder', parents: arg('parents') },
    },
    google_drive_delete: {
      description: 'Deletes a file without the trash.',
      method: 'DELETE',
      path: '/drive/v3/files/{fileId}',
      arguments: { fileId },
      // A repeated call fails with 404.
      idempotent: false,
    },
  },
});
