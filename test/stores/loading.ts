// Prints the loaded modules of the database client, before and after a database is opened.
import { registerHooks } from 'node:module';

const loadedPackages: string[] = [];
registerHooks({
  load(url, context, next) {
    const [, name] = /\/node_modules\/(pg|kysely)\//.exec(url) ?? [];
    if (name !== undefined && !loadedPackages.includes(name)) loadedPackages.push(name);
    return next(url, context);
  },
});

function print(): void {
  process.stdout.write(`${JSON.stringify(loadedPackages.toSorted())}\n`);
}

await import('@heddle/engine');
const { openPostgres, openStores } = await import('@heddle/engine/stores');
openStores().close();
print();
await openPostgres({ url: 'none' }).catch(() => undefined);
print();
