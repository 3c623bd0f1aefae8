import { data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

const contactId = text('Id of the contact', { required: true });
const properties = data(
  { type: 'object' },
  'Properties of the contact, such as {"email": "ada@example.com", "firstname": "Ada"}',
  {
    required: true,
    fields: ['properties', 'propertiesToSet'],
  },
);

export const integration = defineIntegration({
  service: 'hubspot',
  title: 'HubSpot',
  docsUrl: 'https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide',
  baseUrl: 'https://api.hubapi.com',
  credential: { type: 'bearer', scopes: ['crm.objects.contacts.read', 'crm.objects.contacts.write'] },
  types: ['hubspot'],
  operations: {
    get_contacts: 'hubspot_list_contacts',
    get_contact: 'hubspot_get_contact',
    create_contact: 'hubspot_create_contact',
    update_contact: 'hubspot_update_contact',
  },
  tools: {
    hubspot_list_contacts: {
      description: 'Lists contacts.',
      method: 'GET',
      path: '/crm/v3/objects/contacts',
      arguments: {
        limit: integer('Number of contacts per page, up to 100', [1, 100]),
        after: text('Cursor of the page to fetch, from the field "paging.next.after" of the previous page', {
          fields: [],
        }),
      },
      paging: { items: 'results', cursor: 'paging.next.after', argument: 'after', pages: 10 },
      answer: { output: { contacts: 'results' } },
    },
    hubspot_get_contact: {
      description: 'Returns a contact.',
      method: 'GET',
      path: '/crm/v3/objects/contacts/{contactId}',
      arguments: { contactId },
    },
    hubspot_create_contact: {
      description: 'Creates a contact.',
      method: 'POST',
      path: '/crm/v3/objects/contacts',
      arguments: { properties },
      json: bodyMembers('properties'),
    },
    hubspot_update_contact: {
      description: 'Updates a contact.',
      method: 'PATCH',
      path: '/crm/v3/objects/contacts/{contactId}',
      arguments: { contactId, properties },
      json: bodyMembers('properties'),
      idempotent: true,
    },
  },
});
