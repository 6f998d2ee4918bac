// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aVolume, listPage, scriptedInformer, ScriptedBody } from '../../testing/index.ts';
import type { PersistentVolume } from '../api/objects.ts';
import { persistentVolumes } from '../api/resource.ts';
import { createCompact } from './compact.ts';
import { createPrepare, identityOf, type Transform } from './transform.ts';

const prepare = createPrepare({ resource: persistentVolumes, transform: undefined, objects: 'plain' });
const parsed = (object: object): never => JSON.parse(JSON.stringify(object)) as never;

describe('what is cached', () => {
  it('given managedFields, then they are dropped without giving the object another shape', () => {
    const object = aVolume('a', '1', { managedFields: [{ manager: 'x' }], selfLink: '/x' });
    const cached = prepare(parsed(object));
    expect(cached).toEqual(aVolume('a', '1'));
    expect(Object.keys(cached?.metadata ?? {})).toEqual([
      'name',
      'uid',
      'resourceVersion',
      'managedFields',
      'selfLink',
    ]);
  });

  it('given an object without what is dropped, then it gets no further fields', () => {
    expect(Object.keys(prepare(parsed(aVolume('a', '1')))?.metadata ?? {})).toEqual(['name', 'uid', 'resourceVersion']);
  });

  it('given plain objects, then they and their parts can be changed; frozen ones cannot', () => {
    const frozen = createPrepare({ resource: persistentVolumes, transform: undefined, objects: 'frozen' });
    const isFrozen = (object: PersistentVolume | undefined) =>
      [object, object?.metadata, object?.spec?.accessModes].map((part) => Object.isFrozen(part!));
    expect(isFrozen(prepare(parsed(aVolume('a', '1'))))).toEqual([false, false, false]);
    const withNull = aVolume('a', '1', { labels: null });
    expect(isFrozen(frozen(parsed(withNull)))).toEqual([true, true, true]);
  });

  it('given two objects, then their equal strings, lists and parts are the same', () => {
    const [a, b] = ['a', 'b'].map((name) => prepare(parsed(aVolume(name, '1', { labels: { tier: 'fast storage' } }))));
    expect(a?.metadata?.labels).toBe(b?.metadata?.labels);
    expect(a?.spec).toBe(b?.spec);
    expect(a?.metadata?.name).toBe('a');
    expect(b?.metadata?.name).toBe('b');
  });

  it('[runtime#108] given a cached object that a handler changes, then the change fails', async () => {
    const { api, informer, logger, start, stop } = scriptedInformer();
    informer.addHandler({ add: (object) => Object.assign(object.spec?.capacity ?? {}, { storage: '2Gi' }) });
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')).bookmark('1', 'end'));
    await start();
    expect(logger.messages()).toEqual(['Caches populated', 'A change handler failed']);
    expect(informer.lister.list()[0]?.spec?.capacity).toEqual({ storage: '1Gi' });
    await stop();
  });
});

describe('sharing of equal parts', () => {
  const compacted = (compact: (object: object) => void, object: object): object => {
    const copy = parsed(object) as object;
    compact(copy);
    return copy;
  };

  it('given any parts, then what is shared is equal: strings that could be confused are not', () => {
    const compact = createCompact();
    const tricky = [
      { x: { a: 'b', c: 'd' } },
      { x: { a: 'b"1:c=d' } },
      { x: ['a', 'b'] },
      { x: ['a"1:b'] },
      { x: ['a"b'] },
      { x: { a: '1' } },
      { x: { a: 1 } },
      { x: { a: null } },
      { x: { a: 'null' } },
      { x: [] },
      { x: {} },
      { x: [{}] },
      { x: [[]] },
      { x: { a: true } },
      { x: { a: 1, ['k="1:x'.padEnd(11, 'y')]: 1 } },
      { x: { a: 11, k: 1 } },
    ];
    for (const object of [...tricky, ...tricky]) expect(compacted(compact, object)).toEqual(object);
  });

  it('given any values made of the characters that mark parts, then each object is what it was', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '1', '"', '[', ']', '{', '=', ':', ';'), maxLength: 6 });
    const values = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, text, fc.constantFrom(1, true, null), tie('list'), tie('record')),
      list: fc.array(tie('value'), { maxLength: 3 }),
      record: fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(fc.array(values.record, { minLength: 2 }), (objects) => {
        const compact = createCompact();
        for (const object of objects) expect(compacted(compact, object as object)).toEqual(object);
      }),
      { seed: 1 },
    );
  });

  it('given what has a uid, then neither it nor its name is kept in the tables', () => {
    const compact = createCompact();
    const reference = { ref: { kind: 'Claim', name: 'data', uid: 'u' } };
    const [a, b] = [compacted(compact, reference), compacted(compact, reference)] as [
      typeof reference,
      typeof reference,
    ];
    expect(a.ref).not.toBe(b.ref);
    expect(a).toEqual(b);
  });

  it('given more parts than a table holds, then those in use survive and the others are forgotten', () => {
    const compact = createCompact({ tableSize: 10 });
    const common = compacted(compact, { x: { tier: 'fast' } }) as { x: object };
    const once = compacted(compact, { x: { tier: 'once' } }) as { x: object };
    for (let n = 0; n < 50; n += 1) {
      compacted(compact, { x: { tier: `unique ${n}` } });
      expect((compacted(compact, { x: { tier: 'fast' } }) as { x: object }).x).toBe(common.x);
    }
    expect((compacted(compact, { x: { tier: 'once' } }) as { x: object }).x).not.toBe(once.x);
  });
});

describe('transforms', () => {
  const onlyLabelled: Transform<PersistentVolume> = {
    id: 'labelled',
    apply: (object) => (object.metadata?.labels?.['mine'] === 'yes' ? object : undefined),
  };
  const mine = { labels: { mine: 'yes' } };

  it('given objects that are filtered out, then they are not stored and no handler is called', async () => {
    const { api, informer, calls, start, stop } = scriptedInformer({ transform: onlyLabelled });
    const stream = new ScriptedBody().event('ADDED', aVolume('a', '1', mine)).event('ADDED', aVolume('b', '2'));
    stream.bookmark('3', 'end').event('ADDED', aVolume('c', '4')).event('MODIFIED', aVolume('c', '5'));
    api.answers(stream.event('DELETED', aVolume('c', '6')));
    await start();
    expect(calls).toEqual(['add a@1 initial']);
    expect(informer.lister.size).toBe(1);
    expect(informer.lister.resourceVersion).toBe('6');
    await stop();
  });

  it('given a stored object that is filtered out by a change, then it is deleted; and added when it comes back', async () => {
    const { api, informer, calls, start, stop } = scriptedInformer({ transform: onlyLabelled });
    const stream = new ScriptedBody().event('ADDED', aVolume('a', '1', mine)).bookmark('1', 'end');
    api.answers(stream.event('MODIFIED', aVolume('a', '2')).event('MODIFIED', aVolume('a', '3', mine)));
    await start();
    expect(calls).toEqual(['add a@1 initial', 'delete a@1', 'add a@3']);
    expect(informer.lister.size).toBe(1);
    await stop();
  });

  it('given a transform that throws, then the object stays as it was: changed, listed again, or deleted', async () => {
    const transform: Transform<PersistentVolume> = {
      id: 'fragile',
      apply: (object) => {
        if (object.metadata?.resourceVersion === '2') throw new Error('cannot cope');
        return object;
      },
    };
    const { api, clock, metrics, calls, start, stop } = scriptedInformer({ streaming: 'off', transform });
    const watch = new ScriptedBody().event('MODIFIED', aVolume('a', '2')).write('garbage\n');
    api.answers(listPage([aVolume('a', '1')], { resourceVersion: '1' }), watch);
    api.answers(listPage([aVolume('a', '2')], { resourceVersion: '2' }));
    api.answers(new ScriptedBody().event('DELETED', aVolume('a', '3')));
    await start();
    await clock.advance(800);
    expect(calls).toEqual(['add a@1 initial', 'delete a@3']);
    expect(metrics.value('informer_transform_errors_total', { name: 'persistentvolumes', selector: '' })).toBe(2);
    await stop();
  });

  it('given the identity of an object, then it is all that a transform has to keep, and nothing that is absent', () => {
    const identity = { namespace: 'team', name: 'a', uid: 'u', resourceVersion: '1' };
    expect(identityOf({ ...identity, labels: { x: 'y' } })).toStrictEqual(identity);
    expect(identityOf({ name: 'a' })).toStrictEqual({ name: 'a' });
    expect(identityOf(undefined)).toStrictEqual({});
  });

  it('given a projection, then kind and apiVersion are there all the same', async () => {
    const transform: Transform<PersistentVolume> = {
      id: 'names',
      apply: ({ metadata }) => ({ metadata: { name: metadata?.name ?? '' } }),
    };
    const { api, informer, start, stop } = scriptedInformer({ transform });
    api.answers(new ScriptedBody().event('ADDED', aVolume('a', '1')).bookmark('1', 'end'));
    await start();
    expect(informer.lister.list()).toEqual([{ kind: 'PersistentVolume', apiVersion: 'v1', metadata: { name: 'a' } }]);
    await stop();
  });
});
