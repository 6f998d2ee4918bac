// SPDX-License-Identifier: Apache-2.0
/** Which mutants a rule covers, and which ones that look alike it leaves. */
import { expect, it } from 'vitest';
import { findMutants } from './mutants.ts';
import { ruleFor } from './rules.ts';

const controller = 'packages/resizer/src/a.ts';

function covered(source: string, file = controller): readonly string[] {
  const mutants = findMutants(file, source).filter((mutant) => ruleFor(file, source, mutant) !== undefined);
  return mutants.map(({ mutation }) => mutation);
}

it.each<{ given: string; source: string; expected: readonly string[] }>([
  {
    given: 'the name of an object that is there',
    source: "f(s.volume.metadata?.name ?? '');",
    expected: [
      "s.volume.metadata?.name ?? '' -> s.volume.metadata?.name",
      's.volume.metadata?.name -> s.volume.metadata.name',
      "'' -> 'mutated'",
    ],
  },
  {
    given: 'the name of an object that may be absent, then only its metadata are there',
    source: "f(volume?.metadata?.name ?? '');",
    expected: ['volume?.metadata?.name -> volume?.metadata.name'],
  },
  {
    given: 'the name of an object that a call may not find, then only its metadata are there',
    source: "f(volumes.get(key)?.metadata?.uid ?? '');",
    expected: ['volumes.get(key)?.metadata?.uid -> volumes.get(key)?.metadata.uid'],
  },
  {
    given: 'metadata that were unpacked',
    source: "f(metadata?.uid ?? '');",
    expected: ["metadata?.uid ?? '' -> metadata?.uid", 'metadata?.uid -> metadata.uid', "'' -> 'mutated'"],
  },
  {
    given: 'annotations, which may be absent, then only the metadata are there',
    source: 'f(volume.metadata?.annotations?.[key] ?? {});',
    expected: ['volume.metadata?.annotations?.[key] -> volume.metadata.annotations?.[key]'],
  },
  {
    given: 'the namespace of a claim',
    source: "f(claim.metadata?.namespace ?? '');",
    expected: [
      "claim.metadata?.namespace ?? '' -> claim.metadata?.namespace",
      'claim.metadata?.namespace -> claim.metadata.namespace',
      "'' -> 'mutated'",
    ],
  },
  {
    given: 'the namespace of an object of any kind, which may have none, then only the metadata are there',
    source: "f(object.metadata?.namespace ?? '');",
    expected: ['object.metadata?.namespace -> object.metadata.namespace'],
  },
  {
    given: 'fields that are unpacked from metadata',
    source: "const { namespace = '', name = '', uid } = claim.metadata ?? {};",
    expected: ["'' -> 'mutated'", "'' -> 'mutated'", 'claim.metadata ?? {} -> claim.metadata'],
  },
  {
    given: 'a namespace that is unpacked from the metadata of any kind',
    source: "const { namespace = '' } = object.metadata ?? {};",
    expected: ['object.metadata ?? {} -> object.metadata'],
  },
  {
    given: 'a time of deletion that is unpacked from metadata',
    source: "const { deletionTimestamp = '' } = object.metadata ?? {};",
    expected: ['object.metadata ?? {} -> object.metadata'],
  },
  {
    given: 'fields that are unpacked from the metadata of an object that may be absent',
    source: "const { name = '' } = claim?.metadata ?? {};",
    expected: [],
  },
  { given: 'a spec', source: 'f(volume.spec?.csi ?? {});', expected: [] },
  { given: 'another property that ends in metadata', source: "f(a.Xmetadata?.name ?? '');", expected: [] },
  {
    given: 'another default beside the name',
    source: "f(volume.metadata.name, other ?? '');",
    expected: [],
  },
  {
    given: 'a last return of undefined',
    source: 'function f() {\n  if (a) return 1;\n  return undefined;\n}\n',
    expected: ['statement is removed: return undefined;'],
  },
  {
    given: 'a return of undefined that ends a branch',
    source: 'function f() {\n  if (a) {\n    return undefined;\n  }\n  return 1;\n}\n',
    expected: [],
  },
  {
    given: 'a return of undefined before other code',
    source: 'function f() {\n  return undefined;\n  g();\n}\n',
    expected: [],
  },
])('given $given, then these mutants are equivalent', ({ source, expected }) => {
  expect(covered(source)).toEqual(expected);
});

it('given the spec and the source of a snapshot, which its definition requires, then the conditions on them are equivalent, and defaults of fields are not', () => {
  const source = "f(content?.spec?.source?.volumeHandle ?? '', content.spec ?? {}, content?.spec ?? {}, a.Xspec?.b);";
  expect(covered(source, 'packages/snapshotter/src/a.ts')).toEqual([
    'content?.spec?.source?.volumeHandle -> content?.spec?.source.volumeHandle',
    'content?.spec?.source?.volumeHandle -> content?.spec.source?.volumeHandle',
    'content.spec ?? {} -> content.spec',
  ]);
});

it('given the client itself, which reads whatever was answered, then no mutant of metadata is equivalent', () => {
  expect(covered("f(object.metadata?.name ?? '');", 'packages/runtime/src/api/a.ts')).toEqual([]);
});

it('given the declarations of a program, then what generated pages show of them is equivalent, and values and rights are not', () => {
  const gates = "const gates = {\n  ...others,\n  Topology: { stage: 'GA', defaultValue: true },\n};\n";
  expect(covered(gates, 'packages/resizer/src/flags.ts')).toEqual([
    "property is removed: stage: 'GA'",
    'property is removed: defaultValue: true',
    "'GA' -> ''",
    'true -> false',
  ]);
  expect(covered("const flags = { timeout: f(10, 'Timeout of calls.') };", 'packages/resizer/src/flags.ts')).toEqual([
    "'Timeout of calls.' -> ''",
  ]);
  const rule = "const rules = [{ resources: ['pods'], verbs: ['list', 'watch'], without: 'nothing starts' }];";
  expect(covered(rule, 'packages/resizer/src/rbac.ts')).toEqual([
    "property is removed: without: 'nothing starts'",
    "'pods' -> ''",
    "'list' -> ''",
    "'watch' -> ''",
    "'nothing starts' -> ''",
  ]);
});
