import { arg, data, defineIntegration, text } from './integration.ts';
import { googleErrors } from './google.ts';
import type { IntegrationTool } from './integration.ts';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';

const spreadsheetId = text('Id of the spreadsheet, from its URL', {
  required: true,
  fields: ['spreadsheetId', 'manualSpreadsheetId'],
});
const range = text('Name of the sheet, or a range such as Sheet1!A1:D10', {
  required: true,
  fields: ['sheetName', 'manualSheetName'],
});
const cells = text('Cells in the sheet that "range" names, such as A1:D10', { fields: ['cellRange'] });
const values = data(
  { type: ['array', 'object', 'string'] },
  'Rows, each a list of values, such as [["a", 1], ["b", 2]]. A single row may be one list, such as ["a", 1]. Rows may also be objects; the keys of the first object then determine the order of the values.',
  { required: true },
);
const valueInputOption = text(
  'USER_ENTERED (default): values are parsed as if a person had typed them; RAW: values are stored unchanged',
  {
    schema: { enum: ['USER_ENTERED', 'RAW'] },
  },
);
const updateOutputs = {
  updatedRange: 'updatedRange',
  updatedRows: 'updatedRows',
  updatedColumns: 'updatedColumns',
  updatedCells: 'updatedCells',
};

/** Returns the rows. Values of objects are in the order of the first row's keys. */
function rowsOf(value: Json | undefined): Json[][] {
  const list = Array.isArray(value) ? value : [value ?? null];
  if (list.length === 0) throw new ArgumentError('"values" has no rows');
  if (list.every((row) => isJsonObject(row))) {
    const names = Object.keys(list[0] ?? {});
    return list.map((row) => names.map((name) => cellOf((row as JsonObject)[name] ?? null)));
  }
  if (list.every((row) => Array.isArray(row))) return list.map((row) => row.map(cellOf));
  if (list.some((row) => Array.isArray(row))) throw new ArgumentError('"values" mixes rows and values');
  return [list.map(cellOf)];
}

/** Returns the value of a cell. Lists and objects are written as JSON. */
function cellOf(value: Json): Json {
  return value !== null && typeof value === 'object' ? JSON.stringify(value) : (value ?? '');
}

/** Returns the arguments with the range in A1 notation. If `cells` is set, the name of the sheet is quoted. */
function withRange({ range: sheet, cells: cellRange, ...args }: JsonObject): JsonObject {
  const name = plainText(sheet ?? '');
  const isComplete = name.includes('!') || cellRange === undefined;
  if (isComplete) return { ...args, range: name };
  return { ...args, range: `'${name.replaceAll("'", "''")}'!${plainText(cellRange ?? '')}` };
}

const prepareWrite = (args: JsonObject): JsonObject => ({
  valueInputOption: 'USER_ENTERED',
  ...withRange(args),
  rows: rowsOf(args['values']),
});

const writeCellsTool: IntegrationTool = {
  description: 'Writes cells of a sheet or a range.',
  method: 'PUT',
  path: '/v4/spreadsheets/{spreadsheetId}/values/{range}',
  arguments: { spreadsheetId, range, cells, values, valueInputOption: { ...valueInputOption, in: 'query' } },
  json: { majorDimension: 'ROWS', values: arg('rows') },
  prepare: prepareWrite,
  answer: { output: updateOutputs },
};

export const integration = defineIntegration({
  service: 'google_sheets',
  title: 'Google Sheets',
  docsUrl: 'https://developers.google.com/workspace/sheets/api/reference/rest',
  baseUrl: 'https://sheets.googleapis.com',
  credential: { type: 'bearer', scopes: ['https://www.googleapis.com/auth/spreadsheets'] },
  answer: googleErrors,
  types: ['google_sheets', 'google_sheets_v2'],
  operations: {
    read: 'google_sheets_read',
    write: 'google_sheets_write',
    update: 'google_sheets_update',
    append: 'google_sheets_append',
    clear: 'google_sheets_clear',
    get_info: 'google_sheets_get_spreadsheet',
  },
  tools: {
    google_sheets_read: {
      description: 'Returns the values of the cells of a sheet or a range.',
      method: 'GET',
      path: '/v4/spreadsheets/{spreadsheetId}/values/{range}',
      arguments: { spreadsheetId, range, cells },
      prepare: withRange,
      answer: { output: { range: 'range', values: 'values' } },
    },
    google_sheets_append: {
      description: 'Adds rows after the last row of a table.',
      method: 'POST',
      path: '/v4/spreadsheets/{spreadsheetId}/values/{range}:append',
      arguments: {
        ...{ spreadsheetId, range, values },
        valueInputOption: { ...valueInputOption, in: 'query' },
        insertDataOption: text(
          'INSERT_ROWS: new rows are inserted; OVERWRITE: the cells after the table are overwritten',
          {
            schema: { enum: ['INSERT_ROWS', 'OVERWRITE'] },
            in: 'query',
          },
        ),
      },
      json: { majorDimension: 'ROWS', values: arg('rows') },
      prepare: prepareWrite,
      answer: {
        output: {
          tableRange: 'tableRange',
          ...Object.fromEntries(
            Object.entries(updateOutputs).map(([name, path]) => [name, `updates.${path}`]),
          ),
        },
      },
    },
    google_sheets_write: writeCellsTool,
    google_sheets_update: writeCellsTool,
    google_sheets_clear: {
      description: 'Clears the cells of a sheet or a range.',
      method: 'POST',
      path: '/v4/spreadsheets/{spreadsheetId}/values/{range}:clear',
      arguments: { spreadsheetId, range, cells },
      prepare: withRange,
      idempotent: true,
      answer: { output: { clearedRange: 'clearedRange' } },
    },
    google_sheets_get_spreadsheet: {
      description: 'Returns the title and the sheets of a spreadsheet.',
      method: 'GET',
      path: '/v4/spreadsheets/{spreadsheetId}',
      query: { fields: 'spreadsheetId,spreadsheetUrl,properties.title,sheets.properties' },
      arguments: { spreadsheetId },
    },
  },
});
