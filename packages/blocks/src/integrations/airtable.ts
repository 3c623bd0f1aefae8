import { arg, data, defineIntegration, integer, text } from './integration.ts';

const tableArguments = {
  baseId: text('Id of the base, such as appA1b2C3d4E5f6G7', {
    required: true,
    fields: ['baseId', 'baseSelector'],
  }),
  tableId: text('Id or name of the table', { required: true, fields: ['tableId', 'tableSelector'] }),
};
const recordId = text('Id of the record', { required: true });
const values = data({ type: 'object' }, 'New values, keyed by the name of the field', { required: true });

export const integration = defineIntegration({
  service: 'airtable',
  title: 'Airtable',
  docsUrl: 'https://airtable.com/developers/web/api/introduction',
  baseUrl: 'https://api.airtable.com',
  credential: { type: 'bearer', scopes: ['data.records:read', 'data.records:write'] },
  types: ['airtable'],
  operations: {
    list: 'airtable_list_records',
    airtable_list: 'airtable_list_records',
    get: 'airtable_get_record',
    create: 'airtable_create_records',
    update: 'airtable_update_record',
  },
  tools: {
    airtable_list_records: {
      description: 'Lists the records of a table.',
      method: 'GET',
      path: '/v0/{baseId}/{tableId}',
      arguments: {
        ...tableArguments,
        maxRecords: integer('Maximum number of records', [1, 1000]),
        filterByFormula: text('Formula that the records must match', {
          fields: ['filterFormula', 'filterByFormula'],
        }),
        view: text('Name or id of the view whose records are listed'),
        offset: text('Cursor of the page to fetch, from the field "offset" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'records', cursor: 'offset', argument: 'offset', pages: 10 },
      answer: { output: { records: 'records' } },
    },
    airtable_get_record: {
      description: 'Returns a record.',
      method: 'GET',
      path: '/v0/{baseId}/{tableId}/{recordId}',
      arguments: { ...tableArguments, recordId },
    },
    airtable_create_records: {
      description: 'Creates up to ten records.',
      method: 'POST',
      path: '/v0/{baseId}/{tableId}',
      arguments: {
        ...tableArguments,
        records: data(
          { type: 'array', minItems: 1, maxItems: 10, items: { type: 'object' } },
          'List of records, such as [{"fields": {"Name": "Ada"}}]',
          { required: true },
        ),
      },
      json: { records: arg('records') },
      answer: { output: { records: 'records' } },
    },
    airtable_update_record: {
      description: 'Updates fields of a record.',
      method: 'PATCH',
      path: '/v0/{baseId}/{tableId}/{recordId}',
      arguments: { ...tableArguments, recordId, fields: values },
      json: { fields: arg('fields') },
      idempotent: true,
    },
  },
});
