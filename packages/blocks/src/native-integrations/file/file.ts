import { getOwn } from '@heddle/core/blocks';
import { data, flag, integer, text } from '../../integrations/integration.ts';
import { defineNativeIntegration } from '../native-integration.ts';
import type { NativeToolArgument, NativeToolCall, NativeTool } from '../native-integration.ts';
import { invalidCallError } from '../failures.ts';
import { listFolder, MAX_ENTRIES } from './list.ts';
import {
  parseHeaders,
  parseFiles,
  readFiles,
  readTexts,
  outputWithCombinedText,
  outputWithTexts,
} from './read.ts';
import { appendToFile, editFile, insertIntoFile, moveFile, writeFile } from './write.ts';

const FILE_SCHEMA = { type: ['string', 'object', 'array'], maxLength: 8000 };
const MAX_CONTENT_CHARS = 8 * 2 ** 20;
const HIGHEST_LINE_NUMBER = 2 ** 31 - 1;

const filesArgument = (description: string, fields: readonly string[]): NativeToolArgument =>
  data(FILE_SCHEMA, description, { fields });
const folderArgument = (description: string, fields: readonly string[]): NativeToolArgument =>
  text(description, { fields, schema: { maxLength: 4096 } });
const contentArgument = (description: string, fields?: readonly string[]): NativeToolArgument =>
  text(description, { ...(fields && { fields }), schema: { maxLength: MAX_CONTENT_CHARS } });

const WORKSPACE_OR_RUN_FILE_DESCRIPTION =
  'File to return: the id of a workspace file, a run file, or a list of such values';
const FOLDER_FIELDS = ['folderSelection', 'manualFolderSelection'];
const SUBFOLDER_FIELDS = ['folderIncludeSubfolders'];
const targetFileArguments = (fields: readonly string[]) => ({
  file: { ...filesArgument('Id or name of the file to change', fields), required: true as const },
  folderPath: folderArgument(
    'Folder in which Heddle looks for a file that is given by its name, such as /Reports/Q3%20Results; default: all folders',
    FOLDER_FIELDS,
  ),
  includeSubfolders: flag('Whether Heddle looks in the subfolders of the folder too; default true', {
    fields: SUBFOLDER_FIELDS,
  }),
});
const sourceArguments = (fields: readonly string[]) => ({
  file: filesArgument(WORKSPACE_OR_RUN_FILE_DESCRIPTION, fields),
  folderPath: folderArgument(
    'To read all files of a folder instead of "file": the path of the folder, such as /Reports/Q3%20Results',
    FOLDER_FIELDS,
  ),
  includeSubfolders: flag('Whether to read the files in the subfolders of the folder too; default true', {
    fields: SUBFOLDER_FIELDS,
  }),
});

const URL_OR_FILE_DESCRIPTION =
  'File to read: a URL, a run file, the id of a workspace file, or a list of such values';

/** Reads the files of the oldest block version, which names them in one of two fields. */
async function parseFromEitherField(call: NativeToolCall) {
  const [method, file, filePath] = ['inputMethod', 'file', 'filePath'].map((name) => getOwn(call.args, name));
  const sources = method === 'upload' ? file : method === 'url' ? filePath : (file ?? filePath);
  if (sources === undefined || (method === undefined && file !== undefined && filePath !== undefined))
    throw invalidCallError('must have either "file" or "filePath"');
  return outputWithTexts(await parseFiles(call, sources));
}

const readTools: { readonly [id: string]: NativeTool } = {
  file_parser: {
    description: 'Returns the name and the text of each file.',
    arguments: {
      inputMethod: text(
        'Which argument names the files: url for filePath, upload for file. Without inputMethod, set only one of the two arguments',
        {
          schema: { enum: ['url', 'upload'] },
        },
      ),
      file: filesArgument(URL_OR_FILE_DESCRIPTION, ['file']),
      filePath: filesArgument(URL_OR_FILE_DESCRIPTION, ['filePath']),
    },
    idempotent: true,
    run: parseFromEitherField,
  },
  file_parser_v3: {
    description: 'Returns files and their texts.',
    arguments: { file: { ...filesArgument(URL_OR_FILE_DESCRIPTION, ['file', 'fileUrl']), required: true } },
    idempotent: true,
    run: async (call) => outputWithCombinedText(await parseFiles(call, getOwn(call.args, 'file') ?? null)),
  },
  file_fetch: {
    description: 'Downloads a text file, and returns the file and its text.',
    arguments: {
      fileUrl: text('URL of the file', { required: true, schema: { maxLength: 8000 } }),
      headers: {
        ...data({ type: ['array', 'object'] }, 'Headers of the request'),
        dependsOn: 'fileUrl',
      },
    },
    idempotent: true,
    run: async (call) => {
      const url = getOwn(call.args, 'fileUrl');
      if (typeof url !== 'string' || !/^\s*https?:/i.test(url))
        throw invalidCallError('has a URL that does not begin with http:// or https://');
      return outputWithCombinedText(await parseFiles(call, url, parseHeaders(getOwn(call.args, 'headers'))));
    },
  },
  file_get: {
    description: 'Returns a workspace file as a run file.',
    arguments: {
      file: { ...filesArgument(WORKSPACE_OR_RUN_FILE_DESCRIPTION, ['getFile', 'getFileId']), required: true },
    },
    idempotent: true,
    run: async (call) => ({ file: (await readFiles(call))['file'] ?? null }),
  },
  file_read: {
    description: 'Returns workspace files as run files, without their texts.',
    arguments: sourceArguments(['readFile', 'readFileId']),
    idempotent: true,
    run: readFiles,
  },
  file_get_content: {
    description: 'Returns the texts of workspace files or run files.',
    arguments: {
      ...sourceArguments(['getContentFile', 'getContentFileId']),
      offset: integer(
        'Number of the first line to return; the first line of a file is 1',
        [1, HIGHEST_LINE_NUMBER],
        { fields: ['contentOffset'] },
      ),
      limit: integer('Number of lines to return', [1, HIGHEST_LINE_NUMBER], { fields: ['contentLimit'] }),
    },
    idempotent: true,
    run: readTexts,
  },
  file_list: {
    description: 'Lists the files and folders in a folder of the workspace.',
    arguments: {
      folderPath: folderArgument('Folder to list; default /', ['folderPath', 'manualFolderPath']),
      recursive: flag('Whether to list the content of subfolders too; default false', {
        fields: ['folderRecursive'],
      }),
      depth: integer(
        'Maximum depth of the listed entries; the entries directly in the folder have the depth 1',
        [1, 100],
        { fields: ['folderDepth'] },
      ),
      search: text('Text that the names of the listed entries contain', {
        fields: ['folderSearch'],
        schema: { maxLength: 200 },
      }),
      limit: integer('Maximum number of listed files and folders; default 200', [1, MAX_ENTRIES], {
        fields: ['folderLimit'],
      }),
    },
    idempotent: true,
    requiredFeature: 'files',
    run: listFolder,
  },
};

/** Tools that change files. They are idempotent, because the host makes each change once for its key. */
const writeTools: { readonly [id: string]: NativeTool } = {
  file_write: {
    description: 'Stores text or a file as a workspace file.',
    arguments: {
      fileName: text('Name of the file', { required: true, schema: { maxLength: 255 } }),
      content: contentArgument('Text to store'),
      file: filesArgument('File to store instead of text: a run file, a URL, or the id of a workspace file', [
        'writeFile',
        'writeFileId',
      ]),
      contentType: text(
        'Media type of the new file; default: the media type of the file to store, or for text the type that the extension of fileName has',
        {
          schema: { maxLength: 127 },
        },
      ),
      folderPath: folderArgument('Folder in which the new file is stored; default /', [
        'writeFolderPath',
        'manualWriteFolderPath',
      ]),
      overwrite: flag(
        'Whether to replace a file with the same name in the folder. Default: false; the new file then gets another name',
      ),
    },
    idempotent: true,
    requiredFeature: 'files',
    run: writeFile,
  },
  file_append: {
    description: 'Adds text to the end of a workspace file.',
    arguments: {
      ...targetFileArguments(['appendFile', 'appendFileName']),
      content: { ...contentArgument('Text to append', ['appendContent']), required: true },
    },
    idempotent: true,
    requiredFeature: 'files',
    run: appendToFile,
  },
  file_edit: {
    description: 'Replaces a string that occurs exactly once in a workspace file.',
    arguments: {
      ...targetFileArguments(['editFile', 'editFileName']),
      oldString: { ...contentArgument('The text to replace'), required: true },
      newString: contentArgument('The new text. If it is empty, the old text is deleted'),
    },
    idempotent: true,
    requiredFeature: 'files',
    run: editFile,
  },
  file_insert: {
    description: 'Inserts lines into a workspace file.',
    arguments: {
      ...targetFileArguments(['editFile', 'editFileName']),
      afterLine: integer(
        'Number of the line after which to insert; 0 inserts at the beginning of the file',
        [0, HIGHEST_LINE_NUMBER],
        {
          required: true,
        },
      ),
      content: { ...contentArgument('The lines to insert', ['insertContent']), required: true },
    },
    idempotent: true,
    requiredFeature: 'files',
    run: insertIntoFile,
  },
  file_move: {
    description: 'Moves a workspace file to another folder.',
    arguments: {
      fileId: text('Id of the file', { required: true, fields: ['moveFileId'], schema: { maxLength: 256 } }),
      folderPath: folderArgument('Folder to which the file is moved; default /', [
        'moveTargetFolderPath',
        'manualMoveTargetFolderPath',
      ]),
    },
    idempotent: true,
    requiredFeature: 'files',
    run: moveFile,
  },
};

export const integration = defineNativeIntegration({
  service: 'file',
  title: 'Files',
  summary: 'Reads run files and files at URLs, and reads and changes workspace files.',
  setupInstructions:
    'These operations use files from three sources. A *run file* is a file that Heddle stores for one run ([files](../format.md#files)). A *file at a URL* is downloaded. A *workspace file* is stored by the host (the program that embeds Heddle).\n\nEvery engine can read the texts of run files and of files at a URL. Workspace files are available only if the host passes the option [`tenantFiles`](../../packages/engine/README.md#files-and-knowledge-of-tenants) to the engine. Without this option, blocks that need workspace files fail with [FEATURE_MISSING](../errors.md#feature_missing), and `heddle check` and deployments warn about these blocks. `heddle run` and `heddle serve` do not support workspace files yet.\n\nA block can access only the files of the workspace to which its workflow belongs. For a file of another workspace, the block fails with [FILE_UNKNOWN](../errors.md#file_unknown). When a block reads a workspace file or a file at a URL, Heddle stores a copy as a run file, which agents and integrations accept. For a workspace file, the field `workspaceFileId` of the copy has the id in the workspace. The [egress policy](../security.md) restricts the URLs. If the author of an agent sets headers for a download, the author must set the URL, too. Otherwise a model could choose to which server the headers are sent.\n\nTo read the text of a file, Heddle needs a text file in UTF-8, in UTF-16 with a byte order mark, or in the character set that the server of the URL names. For other files, such as PDF, the call fails with [FILE_TYPE_UNSUPPORTED](../errors.md#file_type_unsupported). A file whose text is read may have up to 20 MiB, and all texts of a call together may have up to 8,388,608 characters. Changes to files are idempotent: a call that is repeated after a crash or by a retry takes effect only once.',
  types: ['file', 'file_v2', 'file_v3', 'file_v4', 'file_v5'],
  settings: {},
  operations: Object.fromEntries(
    [...Object.keys(readTools), ...Object.keys(writeTools)].map((id) => [id, id]),
  ),
  defaultOperations: { file_v3: 'file_parser_v3', file_v4: 'file_read', file_v5: 'file_read' },
  outputs: {
    files: 'The files; in older versions of the block each with its text.',
    file: 'The first file.',
    combinedContent: 'The texts of all files, separated by lines of equals signs.',
    processedFiles: 'The run files (older versions).',
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
