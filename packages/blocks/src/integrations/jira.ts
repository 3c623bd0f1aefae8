import { arg, data, defineIntegration, integer, text } from './integration.ts';

const issueIdOrKey = text('Key or id of the issue, such as ENG-1', {
  required: true,
  fields: ['issueKey', 'manualIssueKey'],
  schema: { pattern: '^[\\w-]{1,100}$' },
});

/** Returns a document in the Atlassian Document Format with the text of an argument. */
const createDocument = (name: string) => ({
  type: 'doc',
  version: 1,
  content: [{ type: 'paragraph', content: [{ type: 'text', text: arg(name) }] }],
});

export const integration = defineIntegration({
  service: 'jira',
  title: 'Jira',
  docsUrl: 'https://developer.atlassian.com/cloud/jira/platform/rest/v3/',
  // Each site has its own base URL, which the operator configures.
  baseUrl: undefined,
  accountField: 'domain',
  credential: { type: 'basic' },
  answer: { error: 'errorMessages' },
  types: ['jira'],
  operations: {
    read: 'jira_retrieve',
    search: 'jira_search_issues',
    write: 'jira_write',
    add_comment: 'jira_add_comment',
  },
  tools: {
    jira_retrieve: {
      description: 'Returns an issue.',
      method: 'GET',
      path: '/rest/api/3/issue/{issueIdOrKey}',
      arguments: { issueIdOrKey },
    },
    jira_search_issues: {
      description: 'Finds issues with a query in JQL, the query language of Jira.',
      method: 'GET',
      path: '/rest/api/3/search/jql',
      query: { fields: 'summary,status,assignee,priority,created,updated' },
      arguments: {
        jql: text('JQL query, such as project = ENG AND status = Open', { required: true }),
        maxResults: integer('Number of issues per page, up to 100', [1, 100]),
        nextPageToken: text(
          'Cursor of the page to fetch, from the field "nextPageToken" of the previous page',
          { fields: [] },
        ),
      },
      paging: { items: 'issues', cursor: 'nextPageToken', argument: 'nextPageToken', pages: 5 },
      answer: { output: { issues: 'issues' } },
    },
    jira_write: {
      description: 'Creates an issue.',
      method: 'POST',
      path: '/rest/api/3/issue',
      arguments: {
        projectId: text('Id of the project', { required: true, fields: ['projectId', 'manualProjectId'] }),
        issueType: text('Name of the issue type, such as Task', { required: true }),
        summary: text('Title of the issue', { required: true }),
        description: text('Description of the issue'),
        labels: data({ type: 'array', items: { type: 'string' } }, 'Labels of the issue'),
      },
      json: {
        fields: {
          project: { id: arg('projectId') },
          issuetype: { name: arg('issueType') },
          summary: arg('summary'),
          description: arg('document'),
          labels: arg('labels'),
        },
      },
      prepare: (args) => ({
        ...args,
        ...(typeof args['description'] === 'string' && {
          document: {
            type: 'doc',
            version: 1,
            content: [{ type: 'paragraph', content: [{ type: 'text', text: args['description'] }] }],
          },
        }),
      }),
    },
    jira_add_comment: {
      description: 'Adds a comment to an issue.',
      method: 'POST',
      path: '/rest/api/3/issue/{issueIdOrKey}/comment',
      arguments: { issueIdOrKey, comment: text('Text of the comment', { required: true }) },
      json: { body: createDocument('comment') },
    },
  },
});
