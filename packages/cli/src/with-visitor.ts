import type { Visitor } from '@heddle/engine/visit';

/** Hands a visitor of the data folder to `use`, and closes it whatever happens. */
export async function withVisitor<T>(data: string, use: (visitor: Visitor) => Promise<T>): Promise<T> {
  const { visitData } = await import('@heddle/engine/visit');
  const visitor = visitData(data);
  try {
    return await use(visitor);
  } finally {
    visitor.close();
  }
}
