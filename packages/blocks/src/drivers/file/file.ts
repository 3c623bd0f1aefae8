import { own } from '@heddle/core/blocks';
import { data, flag, integer, text } from '../../integrations/integration.ts';
import { defineDriver } from '../driver.ts';
import type { DriverArgument, DriverCall, DriverTool } from '../driver.ts';
import { unusable } from '../failures.ts';
import { listFolder, MAX_ENTRIES } from './list.ts';
import { headersIn, parsedFiles, readFiles, textsOf, withRecords, withTexts } from './read.ts';
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

const SELECTED = 'Id of a file of the workspace, a file of the run, or a list of them';
const scope = {
  folderPath: folder('Folder, such as /Reports/Q3%20Results', ['folderSelection', 'manualFolderSelection']),
  includeSubfolders: flag('Also the folders in it; default true', { fields: ['folderIncludeSubfolders'] }),
};
const changed = (fields: readonly string[]) => ({
  file: { ...files('Id or name of the file', fields), required: true as const },
  ...scope,
});
const selection = (fields: readonly string[]) => ({ file: files(SELECTED, fields), ...scope });

const URL_OR_FILE = 'An address, a file of the run, the id of a file of the workspace, or a list of them';

/** Reads files that an older version names in one of two fields. */
async function parseOlder(call: DriverCall) {
  const [method, file, filePath] = ['inputMethod', 'file', 'filePath'].map((name) => own(call.args, name));
  const chosen = method === 'upload' ? file : method === 'url' ? filePath : (file ?? filePath);
  if (chosen === undefined || (method === undefined && file !== undefined && filePath !== undefined))
    throw unusable('must have either "file" or "filePath"');
  return withTexts(await parsedFiles(call, chosen));
}

const read: { readonly [id: string]: DriverTool } = {
  file_parser: {
    description: 'Returns the texts of files, each with its name.',
    arguments: {
      inputMethod: text('url: filePath counts; upload: file counts', { schema: { enum: ['url', 'upload'] } }),
      file: files(URL_OR_FILE, ['file']),
      filePath: files(URL_OR_FILE, ['filePath']),
    },
    idempotent: true,
    run: parseOlder,
  },
  file_parser_v3: {
    description: 'Returns files and their texts.',
    arguments: { file: { ...files(URL_OR_FILE, ['file', 'fileUrl']), required: true } },
    idempotent: true,
    run: async (call) => withRecords(await parsedFiles(call, own(call.args, 'file') ?? null)),
  },
  file_fetch: {
    description: 'Downloads a text file, and returns the file and its text.',
    arguments: {
      fileUrl: text('Address of the file', { required: true, schema: { maxLength: 8000 } }),
      headers: {
        ...data({ type: ['array', 'object'] }, 'Headers of the request'),
        onlyWith: 'fileUrl',
      },
    },
    idempotent: true,
    run: async (call) => {
      const address = own(call.args, 'fileUrl');
      if (typeof address !== 'string' || !/^\s*https?:/i.test(address))
        throw unusable('has an address that does not begin with http:// or https://');
      return withRecords(await parsedFiles(call, address, headersIn(own(call.args, 'headers'))));
    },
  },
  file_get: {
    description: 'Returns a file of the workspace as a file of the run.',
    arguments: { file: { ...files(SELECTED, ['getFile', 'getFileId']), required: true } },
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
    description: 'Lists what a folder of the workspace holds.',
    arguments: {
      folderPath: folder('Folder; default /', ['folderPath', 'manualFolderPath']),
      recursive: flag('Also what its folders hold', { fields: ['folderRecursive'] }),
      depth: integer('Most levels', [1, 100], { fields: ['folderDepth'] }),
      search: text('Part of the names', { fields: ['folderSearch'], schema: { maxLength: 200 } }),
      limit: integer('Most entries; default 200', [1, MAX_ENTRIES], { fields: ['folderLimit'] }),
    },
    idempotent: true,
    uses: 'files',
    run: listFolder,
  },
};

/** They carry a key, with which the host makes a change once. */
const write: { readonly [id: string]: DriverTool } = {
  file_write: {
    description: 'Stores a text or a file as a file of the workspace.',
    arguments: {
      fileName: text('Name of the file', { required: true, schema: { maxLength: 255 } }),
      content: content('The text'),
      file: files('Instead of a text: a file of the run, an address, or the id of a file', [
        'writeFile',
        'writeFileId',
      ]),
      contentType: text('Media type; default: that of the file, or of the ending of the name', {
        schema: { maxLength: 127 },
      }),
      folderPath: folder('Folder; default /', ['writeFolderPath', 'manualWriteFolderPath']),
      overwrite: flag(
        'Replaces a file with the same name in the folder; default: the new file gets another name',
      ),
    },
    idempotent: true,
    uses: 'files',
    run: writeFile,
  },
  file_append: {
    description: 'Adds a text to the end of a file of the workspace.',
    arguments: {
      ...changed(['appendFile', 'appendFileName']),
      content: { ...content('The text', ['appendContent']), required: true },
    },
    idempotent: true,
    uses: 'files',
    run: appendToFile,
  },
  file_edit: {
    description: 'Replaces a text that a file of the workspace has exactly once.',
    arguments: {
      ...changed(['editFile', 'editFileName']),
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
      ...changed(['editFile', 'editFileName']),
      afterLine: integer('The line before them; 0 is the beginning', [0, LAST_LINE], { required: true }),
      content: { ...content('The lines', ['insertContent']), required: true },
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
  summary: 'Reads files of the run and of addresses, and reads and changes files of the workspace.',
  access:
    'Texts of [files of the run](../format.md#files) and of addresses are read by every engine. Files of the workspace are those that the host stores: an embedder passes them as [`tenantFiles`](../../packages/engine/README.md#files-and-knowledge-of-tenants); without them a block fails with [FEATURE_MISSING](../errors.md#feature_missing), and `heddle check` and deployments warn of operations that need them. `heddle run` and `heddle serve` store none yet.\n\nA block reads and changes only files of the workspace of its workflow; others are answered like files that do not exist ([FILE_UNKNOWN](../errors.md#file_unknown)). A file that is read from the workspace or an address becomes a file of the run, which agents and integrations take; `workspaceFileId` of it is its id in the workspace. Addresses are subject to the [egress rules](../security.md). Headers that an author has set for a tool of an agent are sent only to an address that the author has set too.\n\nTexts are UTF-8, UTF-16 with a byte order mark, or in the character set that the server names, with up to 20 MiB for a file and 8 Mi characters together. Other files, such as PDF, fail with [FILE_TYPE_UNSUPPORTED](../errors.md#file_type_unsupported). A change of a file is made once, even if a crash or a retry repeats the call.',
  types: ['file', 'file_v2', 'file_v3', 'file_v4', 'file_v5'],
  settings: {},
  operations: Object.fromEntries([...Object.keys(read), ...Object.keys(write)].map((id) => [id, id])),
  defaults: { file_v3: 'file_parser_v3', file_v4: 'file_read', file_v5: 'file_read' },
  outputs: {
    files: 'The files; in older versions each with its text.',
    file: 'The first file.',
    combinedContent: 'The texts of all files, with a line of = between them.',
    processedFiles: 'The files as files of the run (older versions).',
    contents: 'The text of each file.',
    lineRanges: 'For each file offset, lineCount and totalLines, if lines were asked for.',
    entries: 'What the folder holds: kind, name, depth, and id, size, type of files.',
    path: 'The folder that was listed.',
    truncated: 'Whether the folder holds more.',
    id: 'Id of the file that was stored or changed.',
    name: 'Its name.',
    size: 'Its size in bytes.',
    url: 'Where people open it, if the host says it.',
    folderPath: 'Its folder.',
    lineCount: 'Its lines after the change.',
    fileId: 'Id of the file that was moved.',
  },
  tools: { ...read, ...write },
});
