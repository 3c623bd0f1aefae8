import { describe, expect, it } from 'vitest';
import { supportedEntityTypes, findPersonalData, maskEntities } from './personal-data.ts';

const mask = async (text: string, types: readonly string[] = supportedEntityTypes()): Promise<string> =>
  maskEntities(text, await findPersonalData(text, types));

describe('personal data', () => {
  it.each([
    ['Write to ada@example.com.', 'Write to <EMAIL_ADDRESS>.'],
    ['See https://example.com/a?b=c, please', 'See <URL>, please'],
    ['Pay to DE89 3704 0044 0532 0130 00 TODAY', 'Pay to <IBAN_CODE> TODAY'],
    ['Card 4111 1111 1111 1111!', 'Card <CREDIT_CARD>!'],
    ['SSN 123-45-6789', 'SSN <US_SSN>'],
    ['from 192.168.0.1 and 2001:db8::1.', 'from <IP_ADDRESS> and <IP_ADDRESS>.'],
    ['send to 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', 'send to <CRYPTO>'],
    ['NIF 12345678Z', 'NIF <ES_NIF>'],
    ['CF RSSMRA85T10A562S', 'CF <IT_FISCAL_CODE>'],
    ['PESEL 44051401359', 'PESEL <PL_PESEL>'],
    ['Call +44 20 7946 0958 or (415) 555-2671', 'Call <PHONE_NUMBER> or <PHONE_NUMBER>'],
    ['ada@example.com,grace@example.com', '<EMAIL_ADDRESS>,<EMAIL_ADDRESS>'],
  ])('is found in "%s"', async (text, expected) => {
    expect(await mask(text)).toBe(expected);
  });

  it.each([
    'Order 4111 1111 1111 1112 has 3 parts',
    'Version 1.2.3 of std::vector at 12:30',
    'a@b and @home',
    'DE00 3704 0044 0532 0130 00',
    '000-12-3456',
  ])('is not found in text that only looks like it: "%s"', async (text) => {
    expect(await mask(text)).toBe(text);
  });

  it('is found only for the requested types', async () => {
    expect(await mask('ada@example.com 123-45-6789', ['US_SSN'])).toBe('ada@example.com <US_SSN>');
  });

  it('has its position in the text', async () => {
    expect(await findPersonalData('x ada@example.com', supportedEntityTypes())).toEqual([
      { type: 'EMAIL_ADDRESS', start: 2, end: 17 },
    ]);
  });

  it.each(['1', '1 ', '+1(', 'a@', 'A1', ':', '1.', 'https://', '-', 'AA11 '])(
    'is searched for in linear time, even in repetitions of "%s"',
    async (repeatedText) => {
      const text = repeatedText.repeat(200_000 / repeatedText.length);
      expect(await findPersonalData(text, supportedEntityTypes())).toBeInstanceOf(Array);
    },
  );
});
