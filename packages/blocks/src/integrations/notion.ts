import type { Json, JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import { arg, data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

/** Maximum number of characters that Notion accepts in one text object. */
const MAX_TEXT_CHARS = 2000;
/** Maximum number of text objects that Notion accepts in one paragraph. */
const MAX_TEXT_OBJECTS = 100;
/** Maximum number of blocks that Notion accepts in one request. */
const MAX_BLOCKS = 100;

const pageOutput = {
  id: 'id',
  url: 'url',
  created_time: 'created_time',
  last_edited_time: 'last_edited_time',
};
const pageId = text('Id of the page', { required: true, fields: ['pageId', 'pageSelector'] });
const databaseId = text('Id of the database', { required: true, fields: ['databaseId', 'databaseSelector'] });
const content = text('Text of the content; an empty line begins a new paragraph');

function richTextOf(value: string): Json[] {
  const textObjects: Json[] = [];
  let remainingText = value;
  while (remainingText !== '') {
    // Do not split a surrogate pair.
    const end = /[\uD800-\uDBFF]/.test(remainingText[MAX_TEXT_CHARS - 1] ?? '')
      ? MAX_TEXT_CHARS - 1
      : MAX_TEXT_CHARS;
    textObjects.push({ type: 'text', text: { content: remainingText.slice(0, end) } });
    remainingText = remainingText.slice(end);
  }
  return textObjects;
}

/** Returns the text as paragraph blocks: several if it has more text objects than Notion accepts in one paragraph. */
function splitParagraph(text: string): Json[] {
  const textObjects = richTextOf(text);
  const count = Math.ceil(textObjects.length / MAX_TEXT_OBJECTS);
  return Array.from({ length: count }, (_, index): Json => {
    const richText = textObjects.slice(index * MAX_TEXT_OBJECTS, (index + 1) * MAX_TEXT_OBJECTS);
    return { object: 'block', type: 'paragraph', paragraph: { rich_text: richText } };
  });
}

function paragraphsOf(value: Json | undefined): Json[] | undefined {
  if (value === undefined || value === null) return undefined;
  const texts = plainText(value)
    .split(/\n[ \t]*\n/)
    .filter((paragraphText) => paragraphText.trim() !== '');
  const blocks = texts.flatMap(splitParagraph);
  if (blocks.length > MAX_BLOCKS)
    throw new ArgumentError(
      `"content" has ${blocks.length} paragraphs, more than the ${MAX_BLOCKS} that Notion accepts`,
    );
  return blocks.length === 0 ? undefined : blocks;
}

function withChildren(args: JsonObject): JsonObject {
  const children = paragraphsOf(args['content']);
  return { ...args, ...(children && { children }) };
}

/**
 * Returns the arguments of a new page with its properties in `allProperties`. The title is set under the key `title`.
 * In a database, `title` is the id of the title property; under another page, it is the name of the property.
 */
function withProperties(args: JsonObject): JsonObject {
  const { title, properties } = args;
  const otherProperties = isJsonObject(properties) ? properties : {};
  const titleProperty = title === undefined ? {} : { title: { title: richTextOf(plainText(title)) } };
  return { ...withChildren(args), allProperties: { ...otherProperties, ...titleProperty } };
}

export const integration = defineIntegration({
  service: 'notion',
  title: 'Notion',
  docsUrl: 'https://developers.notion.com/reference',
  baseUrl: 'https://api.notion.com',
  credential: { type: 'bearer', scopes: [] },
  headers: { 'notion-version': '2022-06-28' },
  answer: { error: 'message', code: 'code', errors: { rate: ['rate_limited'] } },
  types: ['notion', 'notion_v2'],
  operations: {
    notion_read: 'notion_read',
    notion_create_page: 'notion_create_page',
    notion_write: 'notion_write',
    notion_query_database: 'notion_query_database',
    notion_read_database: 'notion_read_database',
    notion_search: 'notion_search',
    notion_add_database_row: 'notion_add_database_row',
  },
  tools: {
    notion_create_page: {
      description: 'Creates a page under another page.',
      method: 'POST',
      path: '/v1/pages',
      arguments: {
        parentId: text('Id of the parent page', { required: true, fields: ['parentId', 'parentSelector'] }),
        title: text('Title of the page'),
        content,
      },
      json: {
        parent: { page_id: arg('parentId') },
        properties: arg('allProperties'),
        children: arg('children'),
      },
      prepare: withProperties,
      answer: { output: { ...pageOutput, title: 'properties.title.title[0].plain_text' } },
    },
    notion_add_database_row: {
      description: 'Adds a row to a database. In Notion, each row of a database is a page.',
      method: 'POST',
      path: '/v1/pages',
      arguments: {
        databaseId,
        title: text('Title of the page'),
        properties: data(
          { type: 'object' },
          'Values of the properties of the page, in the JSON format of the Notion API',
        ),
        content,
      },
      json: {
        parent: { database_id: arg('databaseId') },
        properties: arg('allProperties'),
        children: arg('children'),
      },
      prepare: withProperties,
      answer: { output: pageOutput },
    },
    notion_write: {
      description: 'Adds text to the end of a page.',
      method: 'PATCH',
      path: '/v1/blocks/{pageId}/children',
      arguments: { pageId, content: { ...content, required: true } },
      json: { children: arg('children') },
      prepare: withChildren,
    },
    notion_read: {
      description:
        'Returns the content of a page as a list of Notion blocks, such as paragraphs and headings.',
      method: 'GET',
      path: '/v1/blocks/{pageId}/children',
      arguments: {
        pageId,
        page_size: integer('Number of Notion blocks per page of results, up to 100', [1, 100], {
          fields: ['pageSize'],
        }),
        start_cursor: text(
          'Cursor of the page of results to fetch, from the field "next_cursor" of the previous page of results',
          { fields: [] },
        ),
      },
      paging: { items: 'results', cursor: 'next_cursor', argument: 'start_cursor', pages: 10 },
      answer: { output: { blocks: 'results' } },
    },
    notion_read_database: {
      description: 'Returns the title and the properties of a database.',
      method: 'GET',
      path: '/v1/databases/{databaseId}',
      arguments: { databaseId },
    },
    notion_query_database: {
      description: 'Returns the rows of a database that match a filter.',
      method: 'POST',
      path: '/v1/databases/{databaseId}/query',
      arguments: {
        databaseId,
        filter: data({ type: 'object' }, 'Filter, in the JSON format of the Notion API'),
        sorts: data(
          { type: 'array', items: { type: 'object' } },
          'Sort order, in the JSON format of the Notion API',
        ),
        page_size: integer('Number of rows per page of results, up to 100', [1, 100], {
          fields: ['pageSize'],
        }),
        start_cursor: text(
          'Cursor of the page of results to fetch, from the field "next_cursor" of the previous page of results',
          { fields: [] },
        ),
      },
      json: bodyMembers('filter', 'sorts', 'page_size', 'start_cursor'),
      ...{ idempotent: true, readOnly: true },
      paging: { items: 'results', cursor: 'next_cursor', argument: 'start_cursor', pages: 10 },
      answer: { output: { results: 'results' } },
    },
    notion_search: {
      description: 'Finds pages and databases by their titles.',
      method: 'POST',
      path: '/v1/search',
      arguments: {
        query: text('Words in the titles'),
        page_size: integer('Number of results per page, up to 100', [1, 100], { fields: ['pageSize'] }),
        start_cursor: text('Cursor of the page to fetch, from the field "next_cursor" of the previous page', {
          fields: [],
        }),
      },
      json: bodyMembers('query', 'page_size', 'start_cursor'),
      ...{ idempotent: true, readOnly: true },
      paging: { items: 'results', cursor: 'next_cursor', argument: 'start_cursor', pages: 3 },
      answer: { output: { results: 'results' } },
    },
  },
});
