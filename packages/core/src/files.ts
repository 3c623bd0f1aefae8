import './node-version.ts';

// the records by which files stand in values
export { fileName, mediaType } from './file-names.ts';
export { fileToRead, filesIn, withContents } from './file-record.ts';
export type { FileRecord } from './file-record.ts';
