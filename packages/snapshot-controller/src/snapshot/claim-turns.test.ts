// SPDX-License-Identifier: Apache-2.0
import { toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { createClaimTurns } from './claim-turns.ts';

const [data, logs] = [toObjectKey('team', 'data'), toObjectKey('team', 'logs')];

/** Changes that end on request, and the order in which they begin. */
function changes() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    change: (name: string) => (): Promise<string> => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: (name: string): void => ends.get(name)?.resolve(name),
    fail: (name: string): void => ends.get(name)?.reject(new Error(name)),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('given changes of one claim, then each begins when the one before has ended, whatever became of it; other claims do not wait', async () => {
  const turns = createClaimTurns();
  const { begun, change, end, fail } = changes();
  const first = turns.take(data, change('first'));
  const second = turns.take(data, change('second'));
  const third = turns.take(data, change('third'));
  const other = turns.take(logs, change('other'));
  await settle();
  expect(begun).toEqual(['first', 'other']);
  fail('first');
  await expect(first).rejects.toThrow('first');
  const fourth = turns.take(data, change('fourth'));
  await settle();
  expect(begun).toEqual(['first', 'other', 'second']);
  end('second');
  expect(await second).toBe('second');
  await settle();
  expect(begun).toEqual(['first', 'other', 'second', 'third']);
  end('third');
  end('other');
  expect(await Promise.all([third, other])).toEqual(['third', 'other']);
  await settle();
  end('fourth');
  expect(await fourth).toBe('fourth');
  const later = turns.take(data, change('later'));
  await settle();
  end('later');
  expect(await later).toBe('later');
});
