import { getHeddleApi } from '../../../heddle.ts';

export const runtime = 'nodejs';
export const dynamic = 'force-dynamic';

export async function GET(request: Request): Promise<Response> {
  return (await getHeddleApi()).fetch(request);
}
