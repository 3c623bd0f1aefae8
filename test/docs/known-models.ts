import { knownModels } from '@heddle/blocks';

/** The column headings of the table of known models. */
export const MODEL_TABLE_HEADER = [
  'provider',
  'model',
  'context, tokens',
  'longest output, tokens',
  'input, $',
  'cached input, $',
  'output, $',
  'reasoning can be set',
];

/** Returns the rows of the table of known models, in the order of `knownModels`. */
export function knownModelRows(): string[][] {
  return knownModels().map(({ provider, id, context, output, prices, reasoning }) => [
    `\`${provider}\``,
    `\`${id}\``,
    context.toLocaleString('en'),
    output.toLocaleString('en'),
    String(prices.input),
    prices.cachedInput === undefined ? '' : String(prices.cachedInput),
    String(prices.output),
    reasoning ? 'yes' : '',
  ]);
}
