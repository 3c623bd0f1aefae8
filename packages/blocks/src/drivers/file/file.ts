import { own } from '@heddle/core/blocks';
import { data, flag, integer, text } from '../../integrations/integration.ts';
import { defineDriver } from '../driver.ts';
import type { DriverArgument, DriverCall, DriverTool } from '../driver.ts';
import { invalidCallError } from '../failures.ts';
import { listFolder, MAX_ENTRIES } from './list.ts';
import { headersIn, parseFiles, readFiles, textsOf, withRecords, withTexts } from './read.ts';
import { appendToFile, editFile, insertIntoFile, moveFile, writeFile } from './write.ts';

const ANY_FILE = { type: ['string', 'object', 'array'], maxLength: 8000 };
const MAX_CONTENT_CHARS = 8 * 2 ** 20;
const LAST_LINE = 2 ** 31 - 1;

const files = (description: string, fields: readonly string[]): DriverArgument =>
  data(ANY_FILE, description, { fields });
const folder = (description: string, fields: readonly string[]): DriverArgument =>
  text(description, { fields, schema: { maxLength: 4096 } });
const content = (description: string, fields?: readonly string[]): DriverArgument =>
  text(description, { ...(fields && { fields }), schema: { maxLength: MAX_CONTENT_CHARS } });

const WORKSPACE_OR_RUN_FILE = 'Id of a file of the workspace, a file of the run, or a list of them';
const scope = {
  folderPath: folder('Folder, such as /Reports/Q3%20Results', ['folderSelection', 'manualFolderSelection']),
  includeSubfolders: flag('Whether to include subfolders; default true', {
    fields: ['folderIncludeSubfolders'],
  }),
};
const changedFile = (fields: readonly string[]) => ({
  file: { ...files('Id or name of the file', fields), required: true as const },
  ...scope,
});
const selection = (fields: readonly string[]) => ({ file: files(WORKSPACE_OR_RUN_FILE, fields), ...scope });

const URL_OR_FILE = 'A URL, a file of the run, the id of a file of the workspace, or a list of them';

/** Reads the files of the oldest block version, which names them in one of two fields. */
async function parseFromEitherField(call: DriverCall) {
  const [method, file, filePath] = ['inputMethod', 'file', 'filePath'].map((name) => own(call.args, name));
  const sources = method === 'upload' ? file : method === 'url' ? filePath : (file ?? filePath);
  if (sources === undefined || (method === undefined && file !== undefined && filePath !== undefined))
    throw invalidCallError('must have either "file" or "filePath"');
  return withTexts(await parseFiles(call, sources));
}

const readTools: { readonly [id: string]: DriverTool } = {
  file_parser: {
    description: 'Returns the texts of files, each with its name.',
    arguments: {
      inputMethod: text('Which argument is used: filePath for url, file for upload', {
        schema: { enum: ['url', 'upload'] },
      }),
      file: files(URL_OR_FILE, ['file']),
      filePath: files(URL_OR_FILE, ['filePath']),
    },
    idempotent: true,
    run: parseFromEitherField,
  },
  file_parser_v3: {
    description: 'Returns files and their texts.',
    arguments: { file: { ...files(URL_OR_FILE, ['file', 'fileUrl']), required: true } },
    idempotent: true,
    run: async (call) => withRecords(await parseFiles(call, own(call.args, 'file') ?? null)),
  },
  file_fetch: {
    description: 'Downloads a text file, and returns the file and its text.',
    arguments: {
      fileUrl: text('URL of the file', { required: true, schema: { maxLength: 8000 } }),
      headers: {
        ...data({ type: ['array', 'object'] }, 'Headers of the request'),
        onlyWith: 'fileUrl',
      },
    },
    idempotent: true,
    run: async (call) => {
      const url = own(call.args, 'fileUrl');
      if (typeof url !== 'string' || !/^\s*https?:/i.test(url))
        throw invalidCallError('has a URL that does not begin with http:// or https://');
      return withRecords(await parseFiles(call, url, headersIn(own(call.args, 'headers'))));
    },
  },
  file_get: {
    description: 'Returns a file of the workspace as a file of the run.',
    arguments: { file: { ...files(WORKSPACE_OR_RUN_FILE, ['getFile', 'getFileId']), required: true } },
    idempotent: true,
    run: async (call) => ({ file: (await readFiles(call))['file'] ?? null }),
  },
  file_read: {
    description: 'Returns files of the workspace as files of the run, without their texts.',
    arguments: selection(['readFile', 'readFileId']),
    idempotent: true,
    run: readFiles,
  },
  file_get_content: {
    description: 'Returns the texts of files of the workspace or the run.',
    arguments: {
      ...selection(['getContentFile', 'getContentFileId']),
      offset: integer('First line, from 1', [1, LAST_LINE], { fields: ['contentOffset'] }),
      limit: integer('Number of lines', [1, LAST_LINE], { fields: ['contentLimit'] }),
    },
    idempotent: true,
    run: textsOf,
  },
  file_list: {
    description: 'Lists the files and folders in a folder of the workspace.',
    arguments: {
      folderPath: folder('Folder; default /', ['folderPath', 'manualFolderPath']),
      recursive: flag('Whether to include the content of subfolders', { fields: ['folderRecursive'] }),
      depth: integer('Maximum number of levels', [1, 100], { fields: ['folderDepth'] }),
      search: text('Text that the names contain', { fields: ['folderSearch'], schema: { maxLength: 200 } }),
      limit: integer('Maximum number of entries; default 200', [1, MAX_ENTRIES], { fields: ['folderLimit'] }),
    },
    idempotent: true,
    uses: 'files',
    run: listFolder,
  },
};

/** Tools that change files. They are idempotent, because the host makes each change once for its key. */
const writeTools: { readonly [id: string]: DriverTool } = {
  file_write: {
    description: 'Stores a text or a file as a file of the workspace.',
    arguments: {
      fileName: text('Name of the file', { required: true, schema: { maxLength: 255 } }),
      content: content('Text to store'),
      file: files('Instead of a text: a file of the run, a URL, or the id of a file', [
        'writeFile',
        'writeFileId',
      ]),
      contentType: text('Media type; default: that of the file, or by the extension of the name', {
        schema: { maxLength: 127 },
      }),
      folderPath: folder('Folder; default /', ['writeFolderPath', 'manualWriteFolderPath']),
      overwrite: flag(
        'Whether to replace a file with the same name in the folder; by default the new file gets another name',
      ),
    },
    idempotent: true,
    uses: 'files',
    run: writeFile,
  },
  file_append: {
    description: 'Adds a text to the end of a file of the workspace.',
    arguments: {
      ...changedFile(['appendFile', 'appendFileName']),
      content: { ...content('Text to append', ['appendContent']), required: true },
    },
    idempotent: true,
    uses: 'files',
    run: appendToFile,
  },
  file_edit: {
    description: 'Replaces a text that occurs exactly once in a file of the workspace.',
    arguments: {
      ...changedFile(['editFile', 'editFileName']),
      oldString: { ...content('The text to replace'), required: true },
      newString: content('The new text; empty deletes the old one'),
    },
    idempotent: true,
    uses: 'files',
    run: editFile,
  },
  file_insert: {
    description: 'Inserts lines into a file of the workspace.',
    arguments: {
      ...changedFile(['editFile', 'editFileName']),
      afterLine: integer('Number of the line after which to insert; 0 for the beginning', [0, LAST_LINE], {
        required: true,
      }),
      content: { ...content('The lines to insert', ['insertContent']), required: true },
    },
    idempotent: true,
    uses: 'files',
    run: insertIntoFile,
  },
  file_move: {
    description: 'Moves a file of the workspace to another folder.',
    arguments: {
      fileId: text('Id of the file', { required: true, fields: ['moveFileId'], schema: { maxLength: 256 } }),
      folderPath: folder('Folder; default /', ['moveTargetFolderPath', 'manualMoveTargetFolderPath']),
    },
    idempotent: true,
    uses: 'files',
    run: moveFile,
  },
};

export const integration = defineDriver({
  service: 'file',
  title: 'Files',
  summary: 'Reads files of the run and at URLs, and reads and changes files of the workspace.',
  access:
    'Every engine can read texts of [files of the run](../format.md#files) and of files at a URL. The host stores files of the workspace: an embedder passes the option [`tenantFiles`](../../packages/engine/README.md#files-and-knowledge-of-tenants) to the engine. Without it, blocks that need these files fail with [FEATURE_MISSING](../errors.md#feature_missing), and `heddle check` and deployments warn of them. `heddle run` and `heddle serve` store no files of workspaces yet.\n\nA block can access only files of the workspace of its workflow; others are treated as unknown ([FILE_UNKNOWN](../errors.md#file_unknown)). A file that is read from the workspace or a URL becomes a file of the run, which agents and integrations accept; its `workspaceFileId` is the id in the workspace. URLs are subject to the [egress rules](../security.md). If the author of an agent sets headers for a tool, they are sent only to a URL that the author also sets.\n\nTexts are in UTF-8, UTF-16 with a byte order mark, or the character set that the server names. A file may have up to 20 MiB, and all texts of a call up to 8 Mi characters. Other files, such as PDF, fail with [FILE_TYPE_UNSUPPORTED](../errors.md#file_type_unsupported). A change of a file is made once, even if a crash or a retry repeats the call.',
  types: ['file', 'file_v2', 'file_v3', 'file_v4', 'file_v5'],
  settings: {},
  operations: Object.fromEntries(
    [...Object.keys(readTools), ...Object.keys(writeTools)].map((id) => [id, id]),
  ),
  defaults: { file_v3: 'file_parser_v3', file_v4: 'file_read', file_v5: 'file_read' },
  outputs: {
    files: 'The files; in older versions of the block each with its text.',
    file: 'The first file.',
    combinedContent: 'The texts of all files, separated by lines of equals signs.',
    processedFiles: 'The files of the run (older versions).',
    contents: 'The text of each file.',
    lineRanges: 'If offset or limit is set: offset, lineCount and totalLines of each file.',
    entries:
      'The files and folders in the folder: kind, name and depth; of folders also path; of files also id, size, type, folderPath, updatedAt and url.',
    path: 'The folder that was listed.',
    truncated: 'Whether the folder has more entries.',
    id: 'Id of the file that was stored or changed.',
    name: 'Its name.',
    size: 'Its size in bytes.',
    url: 'URL at which people open it, if the host provides one.',
    folderPath: 'Its folder.',
    lineCount: 'Number of its lines after the change.',
    fileId: 'Id of the file that was moved.',
  },
  tools: { ...readTools, ...writeTools },
});
