import type { JsonObject } from '@heddle/core/blocks';
import { data, defineIntegration, integer, text } from './integration.ts';
import type { IntegrationTool } from './integration.ts';

const KEY_HEADER = 'Idempotency-Key';

/** Returns settings of a tool that sends a form. All arguments are fields of the form, except those in the path. */
const formSettings = (
  ...pathNames: readonly string[]
): Pick<IntegrationTool, 'body' | 'prepare' | 'keyHeader'> => ({
  body: {
    argument: 'form',
    type: 'form',
    mediaType: 'application/x-www-form-urlencoded',
    fields: {
      metadata: { style: 'deepObject', explode: true },
      payment_method_types: { style: 'deepObject', explode: true },
    },
  },
  keyHeader: KEY_HEADER,
  prepare: (args) => {
    const fields = Object.entries(args).filter(([name]) => !pathNames.includes(name));
    const pathArgs = Object.entries(args).filter(([name]) => pathNames.includes(name));
    return { ...(Object.fromEntries(pathArgs) as JsonObject), form: Object.fromEntries(fields) };
  },
});

const idArgument = (noun: string) => text(`Id of the ${noun}`, { required: true, fields: ['id'] });
const metadata = data(
  { type: 'object' },
  'Key-value pairs that Stripe stores with the object. Each value is a string',
);
const customer = text('Id of the customer, such as cus_9s6XKzkNRiz8i3');
const customerFields = {
  email: text('Email address of the customer'),
  name: text('Name of the customer'),
  phone: text('Phone number of the customer'),
  description: text('Description for internal use'),
  metadata,
};
const pageArguments = {
  limit: integer('Number of objects per page, up to 100', [1, 100]),
  starting_after: text('Cursor of the page to fetch: the id of the last object on the previous page', {
    fields: [],
  }),
};
/** Returns settings of a tool that lists objects. `name`: the name of the list in the result. */
const listSettings = (name: string): Pick<IntegrationTool, 'paging' | 'answer'> => ({
  paging: {
    items: 'data',
    cursor: 'id',
    of: 'last',
    more: 'has_more',
    argument: 'starting_after',
    pages: 10,
  },
  answer: { output: { [name]: 'data' } },
});

export const integration = defineIntegration({
  service: 'stripe',
  title: 'Stripe',
  docsUrl: 'https://docs.stripe.com/api',
  baseUrl: 'https://api.stripe.com',
  credential: { type: 'bearer', scopes: [] },
  answer: { error: 'error.message' },
  types: ['stripe'],
  operations: {
    create_customer: 'stripe_create_customer',
    retrieve_customer: 'stripe_retrieve_customer',
    update_customer: 'stripe_update_customer',
    list_customers: 'stripe_list_customers',
    create_payment_intent: 'stripe_create_payment_intent',
    retrieve_payment_intent: 'stripe_retrieve_payment_intent',
    list_payment_intents: 'stripe_list_payment_intents',
    retrieve_invoice: 'stripe_retrieve_invoice',
    list_invoices: 'stripe_list_invoices',
  },
  tools: {
    stripe_create_customer: {
      description: 'Creates a customer.',
      method: 'POST',
      path: '/v1/customers',
      arguments: customerFields,
      ...formSettings(),
    },
    stripe_retrieve_customer: {
      description: 'Returns a customer.',
      method: 'GET',
      path: '/v1/customers/{customer}',
      arguments: { customer: idArgument('customer') },
    },
    stripe_update_customer: {
      description: 'Updates a customer.',
      method: 'POST',
      path: '/v1/customers/{customer}',
      arguments: { customer: idArgument('customer'), ...customerFields },
      ...formSettings('customer'),
    },
    stripe_list_customers: {
      description: 'Lists customers, the newest first.',
      method: 'GET',
      path: '/v1/customers',
      arguments: { ...pageArguments, email: text('Email address of the listed customers') },
      ...listSettings('customers'),
    },
    stripe_create_payment_intent: {
      description: 'Creates a payment intent.',
      method: 'POST',
      path: '/v1/payment_intents',
      arguments: {
        amount: integer('The amount in the smallest unit of the currency, such as cents', [1, 99_999_999], {
          required: true,
        }),
        currency: text('Three-letter code of the currency, such as eur', {
          required: true,
          schema: { pattern: '^[A-Za-z]{3}$' },
        }),
        customer,
        payment_method: text('Id of the payment method'),
        payment_method_types: data(
          { type: 'array', items: { type: 'string' } },
          'Types of payment methods, such as card',
        ),
        description: text('Description for internal use'),
        receipt_email: text('Email address for the receipt'),
        metadata,
      },
      ...formSettings(),
    },
    stripe_retrieve_payment_intent: {
      description: 'Returns a payment intent.',
      method: 'GET',
      path: '/v1/payment_intents/{intent}',
      arguments: { intent: idArgument('payment intent') },
    },
    stripe_list_payment_intents: {
      description: 'Lists payment intents, the newest first.',
      method: 'GET',
      path: '/v1/payment_intents',
      arguments: { ...pageArguments, customer },
      ...listSettings('payment_intents'),
    },
    stripe_retrieve_invoice: {
      description: 'Returns an invoice.',
      method: 'GET',
      path: '/v1/invoices/{invoice}',
      arguments: { invoice: idArgument('invoice') },
    },
    stripe_list_invoices: {
      description: 'Lists invoices, the newest first.',
      method: 'GET',
      path: '/v1/invoices',
      arguments: {
        ...pageArguments,
        customer,
        status: text('Status of the listed invoices: draft, open, paid, uncollectible or void', {
          schema: { enum: ['draft', 'open', 'paid', 'uncollectible', 'void'] },
        }),
      },
      ...listSettings('invoices'),
    },
  },
});
