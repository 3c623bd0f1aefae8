import type * as Sdk from '@aws-sdk/client-s3';
import { getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { data, integer, text } from '../../integrations/integration.ts';
import { permanentError } from '../../openapi/call.ts';
import { fileOf } from '../../openapi/request.ts';
import { ArgumentError, plainText } from '../../openapi/wire.ts';
import { defineNativeIntegration } from '../native-integration.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { clientOf, failureOf, settings } from './client.ts';
import { largeFileOf, readObject, storeInParts } from './objects.ts';

/** Names of buckets. They are part of the host or the path of a URL. */
const BUCKET_PATTERN = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const bucket = text('Name of the bucket', { fields: ['bucketName', 'bucket'] });
const key = text('Key of the object', { fields: ['objectKey', 'key'], schema: { maxLength: 1024 } });
const bucketAndKey = {
  bucket: { ...bucket, required: true as const },
  key: { ...key, required: true as const },
};
const objectArguments = {
  bucket,
  key,
  uri: text(
    'URI of the object, instead of bucket and key: s3://BUCKET/KEY, or the URL of the object on AWS',
    {
      fields: ['s3Uri'],
    },
  ),
};
const MAX_PAGE_ITEMS = 1000;
const MAX_URL_SECONDS = 7 * 86_400;

interface ObjectAddress {
  Bucket: string;
  Key: string;
}

/** Returns the bucket and key of an object. The host of a URL is not used: the settings decide where requests go. */
function addressOf({ args }: NativeToolCall): ObjectAddress {
  const [bucketName, objectKey, uri] = ['bucket', 'key', 'uri'].map((name) =>
    plainText(getOwn(args, name) ?? ''),
  );
  if (bucketName && objectKey) return { Bucket: checkBucket(bucketName), Key: objectKey };
  const address = uri ? parseObjectUri(uri) : undefined;
  if (address) return address;
  throw invalidArgumentError(
    uri
      ? '"uri" is not the URL of an object, such as s3://BUCKET/KEY'
      : 'it has neither bucket and key nor "uri"',
  );
}

function parseObjectUri(uri: string): ObjectAddress | undefined {
  const [, bucketName = '', path = ''] = /^s3:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? parseAwsUrl(uri) ?? [];
  return path !== '' && BUCKET_PATTERN.test(bucketName) ? { Bucket: bucketName, Key: path } : undefined;
}

/** Returns the URL of an object on AWS, its bucket and its key. The bucket is in the host or first in the path. */
function parseAwsUrl(uri: string): [string, string, string] | undefined {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  const hostMatch = /^(?:(.+)\.)?s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com$/.exec(url?.hostname ?? '');
  if (!url || !hostMatch) return undefined;
  const [, bucketName] = hostMatch;
  const path = url.pathname.slice(1);
  const bucketAndPath = bucketName === undefined ? path : `${bucketName}/${path}`;
  const [firstPart = '', ...keyParts] = bucketAndPath.split('/');
  try {
    return [uri, firstPart, decodeURIComponent(keyParts.join('/'))];
  } catch {
    // The text has a percent sign that is not part of an encoded character.
    return undefined;
  }
}

function checkBucket(name: string): string {
  if (BUCKET_PATTERN.test(name)) return name;
  throw invalidArgumentError(
    `"${name.slice(0, 100)}" is not the name of a bucket: it has 3 to 63 letters, digits, dots and hyphens`,
  );
}

function invalidArgumentError(reason: string): ReturnType<typeof permanentError> {
  return permanentError('TOOL_ARGUMENTS_INVALID', `The call to S3 cannot be made: ${reason}.`);
}

/** Runs `work` with a client. Throws a BlockError. */
async function withClient(
  call: NativeToolCall,
  work: (client: Sdk.S3Client, sdk: typeof Sdk) => Promise<JsonObject>,
): Promise<JsonObject> {
  const client = await clientOf(call);
  try {
    return await work(client, await import('@aws-sdk/client-s3'));
  } catch (error) {
    throw failureOf(error, call.context.signal);
  } finally {
    client.destroy();
  }
}

interface ObjectMetadata {
  ContentType?: string | undefined;
  ContentLength?: number | undefined;
  ETag?: string | undefined;
  LastModified?: Date | undefined;
}

function metadataOf({ ContentType, ContentLength, ETag, LastModified }: ObjectMetadata): JsonObject {
  return {
    contentType: ContentType ?? null,
    size: ContentLength ?? null,
    etag: ETag ?? null,
    lastModified: LastModified?.toISOString() ?? null,
  };
}

/** Returns the body of an object to store, and its media type. */
async function contentOf({
  args,
  context,
}: NativeToolCall): Promise<{ Body: string | Uint8Array; ContentType: string }> {
  const contentType = getOwn(args, 'contentType');
  const type = typeof contentType === 'string' ? contentType : undefined;
  const file = getOwn(args, 'file');
  if (file === undefined)
    return {
      Body: plainText(getOwn(args, 'content') ?? ''),
      ContentType: type ?? 'text/plain; charset=utf-8',
    };
  try {
    const { bytes, type: fileType } = await fileOf('file', file, {
      readFile: (record) => context.services.readFile(record),
    });
    return { Body: bytes, ContentType: type ?? fileType };
  } catch (error) {
    throw error instanceof ArgumentError ? invalidArgumentError(error.message) : error;
  }
}

export const integration = defineNativeIntegration({
  service: 's3',
  title: 'Amazon S3',
  docsUrl: 'https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html',
  setupInstructions:
    'Heddle sends the requests to AWS. With `--service s3=URL`, it sends them to this URL, which can belong to any S3-compatible service.\n\nThe fields `accessKeyId` and `secretAccessKey` contain the access key. If they are empty, Heddle uses the first of these credentials that exists: the stored credential whose id is in the field `credential`, the value of `--credential s3=ACCESS_KEY_ID:SECRET_ACCESS_KEY`, or the credential that is stored for the provider `s3`. For temporary keys, the credential has the form `ACCESS_KEY_ID:SECRET_ACCESS_KEY:SESSION_TOKEN`. Heddle never uses access keys from environment variables or from the instance metadata service.\n\nThe [egress policy](../security.md) applies to all requests. Heddle does not follow redirects to other regions, so set `region` to the region of the bucket. A *run file* is a file that Heddle stores for one run ([files](../format.md#files)).',
  types: ['s3'],
  settings,
  operations: {
    get_object: 's3_get_object',
    put_object: 's3_put_object',
    list_objects: 's3_list_objects',
    delete_object: 's3_delete_object',
    copy_object: 's3_copy_object',
    presign_url: 's3_presign_url',
  },
  outputs: {
    content: 'The content of the object: JSON, text, or `{type, size, base64}`; null if it is a file.',
    file: 'The object as a run file, if it has more than 1 MiB; else null.',
    metadata: 'Media type, size, ETag and time of the last change of an object.',
    objects: 'The objects of a list, with key, size, ETag and time of the last change.',
    nextContinuationToken: 'The token of the next page of a list, or null.',
    url: 'A URL that gives access to the object for a limited time.',
    deleted: 'True after an object was deleted.',
  },
  tools: {
    s3_get_object: {
      description:
        'Returns the content of an object. An object of more than 1 MiB is returned as a run file.',
      arguments: objectArguments,
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { GetObjectCommand }) => {
          const object = addressOf(call);
          const response = await client.send(new GetObjectCommand(object));
          return { ...(await readObject(response, object, call)), metadata: metadataOf(response) };
        }),
    },
    s3_put_object: {
      description: 'Stores an object. An existing object with the same key is replaced.',
      arguments: {
        ...bucketAndKey,
        content: text('Content of the object, as text'),
        file: data(
          { type: ['object', 'string'] },
          'Content of the object, as a run file or an object {base64, type}',
          {
            fields: ['uploadFile', 'fileReference', 'file'],
          },
        ),
        contentType: text('Media type of the object; default: the media type of the file, or plain text', {
          schema: { maxLength: 200 },
        }),
      },
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { PutObjectCommand }) => {
          const object = addressOf(call);
          const largeFile = await largeFileOf(call);
          if (largeFile)
            return { metadata: metadataOf(await storeInParts(client, { ...object, ...largeFile })) };
          const { Body, ContentType } = await contentOf(call);
          const { ETag } = await client.send(new PutObjectCommand({ ...object, Body, ContentType }));
          return { metadata: metadataOf({ ContentType, ContentLength: Buffer.byteLength(Body), ETag }) };
        }),
    },
    s3_list_objects: {
      description: 'Returns one page of the list of objects in a bucket.',
      arguments: {
        bucket: bucketAndKey.bucket,
        prefix: text('Prefix that the keys of the listed objects have'),
        maxKeys: integer('Maximum number of objects in the page', [1, MAX_PAGE_ITEMS]),
        continuationToken: text(
          'Token of the page to return: the output nextContinuationToken of the call that returned the previous page',
        ),
      },
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { ListObjectsV2Command }) => {
          const { bucket: name, ...listArgs } = call.args as { [name: string]: never };
          const { prefix: Prefix, maxKeys: MaxKeys, continuationToken: ContinuationToken } = listArgs;
          const Bucket = checkBucket(plainText(name ?? ''));
          const page = await client.send(
            new ListObjectsV2Command({ Bucket, Prefix, MaxKeys, ContinuationToken }),
          );
          const objects = (page.Contents ?? []).map(({ Key, Size, ETag, LastModified }): Json => ({
            ...{ key: Key ?? '', size: Size ?? null, etag: ETag ?? null },
            lastModified: LastModified?.toISOString() ?? null,
          }));
          return { objects, nextContinuationToken: page.NextContinuationToken ?? null };
        }),
    },
    s3_delete_object: {
      description: 'Deletes an object.',
      arguments: bucketAndKey,
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { DeleteObjectCommand }) => {
          await client.send(new DeleteObjectCommand(addressOf(call)));
          return { deleted: true };
        }),
    },
    s3_copy_object: {
      description: 'Copies an object to another bucket or key.',
      arguments: {
        sourceBucket: text('Bucket of the object to copy', { required: true }),
        sourceKey: text('Key of the object', { required: true, schema: { maxLength: 1024 } }),
        destinationBucket: text('Bucket of the copy', { required: true }),
        destinationKey: text('Key of the copy', { required: true, schema: { maxLength: 1024 } }),
      },
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { CopyObjectCommand }) => {
          const argument = (name: string): string => plainText(getOwn(call.args, name) ?? '');
          const Bucket = checkBucket(argument('destinationBucket'));
          const Key = argument('destinationKey');
          const CopySource = `${checkBucket(argument('sourceBucket'))}/${encodeURIComponent(argument('sourceKey'))}`;
          const { CopyObjectResult } = await client.send(new CopyObjectCommand({ Bucket, Key, CopySource }));
          return {
            metadata: metadataOf({
              ETag: CopyObjectResult?.ETag,
              LastModified: CopyObjectResult?.LastModified,
            }),
          };
        }),
    },
    s3_presign_url: {
      description: 'Returns a URL with which anyone can read or replace an object for a limited time.',
      arguments: {
        ...bucketAndKey,
        method: text('HTTP method that the URL allows: GET (default) reads the object, PUT replaces it', {
          schema: { enum: ['GET', 'PUT'] },
        }),
        expiresIn: integer('Seconds until the URL expires; default 900', [1, MAX_URL_SECONDS]),
      },
      idempotent: true,
      run: (call) =>
        withClient(call, async (client, { GetObjectCommand, PutObjectCommand }) => {
          const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
          const object = addressOf(call);
          const command =
            call.args['method'] === 'PUT' ? new PutObjectCommand(object) : new GetObjectCommand(object);
          const { expiresIn = 900 } = call.args;
          return { url: await getSignedUrl(client, command as never, { expiresIn: Number(expiresIn) }) };
        }),
    },
  },
});
