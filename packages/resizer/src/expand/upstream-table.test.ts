// SPDX-License-Identifier: Apache-2.0
/**
 * Upstream's table of sizes, run through the whole loop: what a claim and its PersistentVolume show, which sizes the driver is asked
 * for, and what they show afterwards.
 *
 * In the column `extra`: `pending` is the condition FileSystemResizePending. `known final`: this process has seen a final refusal of
 * the allocated size, and then the user asked for `spec`. A code is the answer to the last call.
 */
import { expect, it } from 'vitest';
import { aClaim, aCondition, aVolume, sizeOf } from '../../testing/builders.ts';
import { aResizer, type Fixture, type FixtureOptions } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';
import { isSame } from '../size.ts';

const table = `
  case         | spec | cap | alloc | rstatus                    | pv   | extra                           | calls   | then alloc | then rstatus               | then pv
  [resizer#20] | 2G   | 1G  | -     | -                          | 1Gi  | -                               | 2G      | 2G         | NodeResizePending          | 2G
  [resizer#22] | 5G   | 3G  | 10G   | ControllerResizeInfeasible | 3Gi  | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#23] | 5G   | 3G  | 10G   | ControllerResizeInProgress | 3Gi  | known final                     | 10G, 5G | 5G         | NodeResizePending          | 5G
  [resizer#24] | 5G   | 3G  | 10G   | ControllerResizeInProgress | 3Gi  | known final, FailedPrecondition | 10G, 5G | 5G         | ControllerResizeInProgress | 3Gi
  [resizer#25] | 5G   | 3G  | 10G   | ControllerResizeInProgress | 3Gi  | known final, InvalidArgument    | 10G, 5G | 5G         | ControllerResizeInfeasible | 3Gi
  [resizer#26] | 5G   | 3G  | 10G   | ControllerResizeInProgress | 3Gi  | -                               | 10G     | 10G        | NodeResizePending          | 10G
  [resizer#27] | 5G   | 3G  | 10G   | NodeResizeInfeasible       | 10Gi | only the node expands           | -       | 5G         | NodeResizePending          | 5G
  [resizer#28] | 1G   | 1G  | 1G    | NodeResizePending          | 1Gi  | -                               | -       | 1G         | NodeResizePending          | 1Gi
  [resizer#29] | 2G   | 1G  | -     | -                          | 1Gi  | no node                         | 2G      | 2G         | -                          | 2G
  [resizer#30] | 2G   | 1G  | 2G    | NodeResizeInfeasible       | 2Gi  | -                               | 2G      | 2G         | NodeResizePending          | 2G
  [resizer#31] | 10G  | 1G  | 3G    | NodeResizePending          | 3Gi  | -                               | -       | 3G         | NodeResizePending          | 3Gi
  [resizer#32] | 10G  | 1G  | 3G    | NodeResizeInProgress       | 3Gi  | -                               | -       | 3G         | NodeResizeInProgress       | 3Gi
  [resizer#33] | 10G  | 1G  | 3G    | NodeResizePending          | 2Gi  | -                               | 3G      | 3G         | NodeResizePending          | 3G
  [resizer#34] | 10G  | 1G  | -     | NodeResizePending          | 2Gi  | -                               | 10G     | 10G        | NodeResizePending          | 10G
  [resizer#35] | 10G  | 1G  | 3G    | NodeResizeInfeasible       | 3Gi  | -                               | 3G      | 3G         | NodeResizePending          | 3G
  [resizer#36] | 10G  | 1G  | -     | NodeResizeInfeasible       | 3Gi  | -                               | 10G     | 10G        | NodeResizePending          | 10G
  [resizer#37] | 5G   | 3G  | -     | ControllerResizeInProgress | 3Gi  | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#38] | 5G   | 3G  | 10G   | -                          | 3Gi  | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#39] | 5G   | 3G  | 10G   | ControllerResizeInProgress | 10Gi | no node                         | 10G     | 10G        | -                          | 10G
  [resizer#40] | 5G   | 3G  | 10G   | ControllerResizeInfeasible | 5G   | -                               | 10G     | 10G        | NodeResizePending          | 10G
  [resizer#41] | 5G   | 3G  | -     | ControllerResizeInProgress | 5G   | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#42] | 5G   | 3G  | 5G    | -                          | 5G   | no node                         | 5G      | 5G         | -                          | 5G
  [resizer#43] | 5G   | 3G  | -     | -                          | 5G   | pending                         | -       | -          | -                          | 5G
  [resizer#44] | 5G   | 3G  | -     | -                          | 5G   | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#45] | 5G   | 3G  | 5G    | SomethingNew               | 5G   | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#45] | 5G   | 3G  | 5G    | SomethingNew               | 5G   | pending                         | -       | 5G         | SomethingNew               | 5G
  [resizer#46] | 5G   | 3G  | 5G    | SomethingNew               | 3Gi  | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#47] | 5G   | 3G  | 5G    | NodeResizeInfeasible       | 5G   | only the node expands           | -       | 5G         | NodeResizePending          | 5G
  [resizer#48] | 8G   | 3G  | 5G    | ControllerResizeInProgress | 3Gi  | no node                         | 5G, 8G  | 8G         | -                          | 8G
  [resizer#48] | 8G   | 3G  | 5G    | ControllerResizeInProgress | 3Gi  | -                               | 5G      | 5G         | NodeResizePending          | 5G
  [resizer#49] | 8G   | 3G  | 5G    | ControllerResizeInProgress | 3Gi  | known final                     | 5G, 8G  | 8G         | NodeResizePending          | 8G
`;

interface Row {
  readonly id: string;
  readonly spec: string;
  readonly cap: string;
  readonly alloc: string | undefined;
  readonly rstatus: string | undefined;
  readonly pv: string;
  readonly extra: readonly string[];
  readonly calls: readonly string[];
  /** Allocated size, resize status, volume capacity. */
  readonly then: readonly [string | undefined, string | undefined, string];
}

function toRow(line: string): Row {
  const cells = line.split('|').map((cell) => cell.trim());
  const [id = '', spec = '', cap = '', alloc, rstatus, pv = '', extra = '', calls = '', ...then] = cells.map((cell) =>
    cell === '-' ? undefined : cell,
  );
  const list = (text: string): readonly string[] => (text === '' ? [] : text.split(', '));
  return {
    id,
    spec,
    cap,
    alloc,
    rstatus,
    pv,
    extra: list(extra),
    calls: list(calls),
    then: then as unknown as Row['then'],
  };
}

const rows = table.trim().split('\n').slice(1).map(toRow);

function optionsOf({ extra }: Row): FixtureOptions {
  if (extra.includes('only the node expands')) return { controller: [], expansion: 'trivial' };
  return extra.includes('no node') ? { node: [] } : {};
}

async function run(row: Row): Promise<Fixture> {
  const { spec, cap, alloc, rstatus, pv, extra } = row;
  const isKnown = extra.includes('known final');
  const code = (['FailedPrecondition', 'InvalidArgument'] as const).find((name) => extra.includes(name));
  const r = await aResizer({ ...optionsOf(row), seed: [aVolume({ cap: pv })] });
  if (isKnown) r.failCalls('Internal');
  r.server.seed(
    aClaim({
      spec: isKnown ? (alloc ?? '') : spec,
      cap,
      ...(alloc === undefined ? {} : { alloc }),
      ...(rstatus === undefined ? {} : { rstatus }),
      ...(extra.includes('pending') ? { conditions: [aCondition('FileSystemResizePending')] } : {}),
    }),
  );
  await r.settle();
  if (code !== undefined) r.failCalls(code);
  if (isKnown) r.ask(spec);
  await r.clock.advance(10);
  await r.settle();
  return r;
}

it('given the table, then it has all lines', () => {
  expect(rows.length).toBe(31);
});

it.each(rows)(
  '$id given $spec requested, $cap there, $alloc allocated, $rstatus, PersistentVolume of $pv, $extra, then $calls',
  async (row) => {
    const r = await run(row);
    expect(r.sizes()).toEqual(row.calls.map((size) => (sizeOf(size).nanos / 1_000_000_000n).toString()));
    const [alloc, rstatus, pv] = row.then;
    const { allocatedResources, allocatedResourceStatuses } = r.claim()?.status ?? {};
    expect([allocatedResources?.['storage'], allocatedResourceStatuses?.['storage']]).toEqual([alloc, rstatus]);
    const stored = r.volume()?.spec?.capacity?.['storage'] ?? '';
    expect([stored, isSame(sizeOf(stored), sizeOf(pv))]).toEqual([stored, true]);
    const note = r.claim()?.metadata?.annotations?.[annotations.nodeExpansionNotRequired];
    expect(note).toBe(row.extra.includes('no node') ? 'true' : undefined);
    await r.stop();
  },
);
