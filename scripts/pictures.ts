// SPDX-License-Identifier: Apache-2.0
/**
 * Draws docs/pictures: the sidecars between API server and driver, the life of a claim, and what the combined process shares. Names of programs,
 * kinds and methods are those of the code, so that a name that is gone does not compile.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Method } from '@csi-sidecars/csi';
import { svgElement, svgPicture } from '../e2e/src/svg.ts';
import { manifests, type ProgramName } from './manifests.ts';

const [ink, faint, line, ours] = ['#1f2937', '#6b7280', '#9ca3af', '#dbeafe'];
type Place = readonly [x: number, y: number];
const text = ([x, y]: Place, content: string, more: Readonly<Record<string, string | number>> = {}) =>
  svgElement('text', { x, y, fill: ink, ...more }, content);
const background = '#f9fafb';
const middle = { 'text-anchor': 'middle' };
/** A label stays readable where a line crosses it. */
const halo = { 'paint-order': 'stroke', stroke: background, 'stroke-width': 4 };

type Area = readonly [x: number, y: number, width: number, height: number];

function box([x, y, width, height]: Area, label: string, fill = '#ffffff'): readonly string[] {
  return [
    svgElement('rect', { x, y, width, height, rx: 6, fill, stroke: line }),
    text([x + width / 2, y + height / 2 + 4], label, middle),
  ];
}

interface Span {
  readonly from: number;
  readonly to: number;
  readonly y: number;
}

function arrow({ from, to, y }: Span, label: string, dashed = false): readonly string[] {
  const tip = to + (from < to ? -7 : 7);
  return [
    svgElement('path', {
      d: `M${from} ${y}H${to}M${tip} ${y - 4}L${to} ${y}L${tip} ${y + 4}`,
      fill: 'none',
      stroke: faint,
      'stroke-dasharray': dashed ? '4 3' : undefined,
    }),
    text([(from + to) / 2, y - 5], label, { ...middle, 'font-size': 11, ...halo }),
  ];
}

const shortOf = (method: Method): string => method.slice(method.lastIndexOf('/') + 1);
const called = (...methods: readonly Method[]) => methods.map(shortOf).join(', ');

/** What each program watches, and what it calls for that. */
const sidecars: readonly (readonly [program: ProgramName, watched: string, calls: string])[] = [
  [
    'csi-provisioner',
    'PersistentVolumeClaim, PersistentVolume',
    called('/csi.v1.Controller/CreateVolume', '/csi.v1.Controller/DeleteVolume'),
  ],
  ['csi-attacher', 'VolumeAttachment', called('/csi.v1.Controller/ControllerPublishVolume')],
  [
    'csi-resizer',
    'PersistentVolumeClaim',
    called('/csi.v1.Controller/ControllerExpandVolume', '/csi.v1.Controller/ControllerModifyVolume'),
  ],
  [
    'csi-snapshotter',
    'VolumeSnapshotContent',
    called('/csi.v1.Controller/CreateSnapshot', '/csi.v1.Controller/DeleteSnapshot'),
  ],
  ['snapshot-controller', 'VolumeSnapshot', ''],
  ['csi-node-driver-registrar', 'kubelet: registration', called('/csi.v1.Identity/GetPluginInfo')],
  ['livenessprobe', 'kubelet: /healthz', called('/csi.v1.Identity/Probe')],
];

function sidecarsPicture(): string {
  const [left, right, row] = [150, 920, 46];
  const height = sidecars.length * row + 30;
  const rows = sidecars.flatMap(([program, watched, calls], index) => {
    const y = 20 + index * row;
    return [
      ...box([430, y, 190, 32], program, ours),
      ...arrow({ from: left, to: 430, y: y + 20 }, watched),
      ...(calls === '' ? [] : arrow({ from: 620, to: right, y: y + 20 }, calls)),
    ];
  });
  const api = sidecars.filter(([, watched]) => !watched.startsWith('kubelet')).length * row;
  return svgPicture({ width: 1070, height, fontSize: 13, background }, [
    ...box([20, 15, left - 20, api - 8], 'API server'),
    ...box([20, 15 + api, left - 20, height - api - 30], 'kubelet'),
    ...box([right, 15, 130, height - 30], 'CSI driver'),
    ...rows,
  ]);
}

const actors = [
  'user',
  'API server',
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'kubelet',
  'CSI driver',
] as const;
type Actor = (typeof actors)[number];

/** Who asks whom, in order. Watches are dashed. */
const life: readonly (readonly [from: Actor, to: Actor, what: string])[] = [
  ['user', 'API server', 'create the claim and a pod'],
  ['API server', 'csi-provisioner', 'the scheduler chose a node'],
  ['csi-provisioner', 'CSI driver', called('/csi.v1.Controller/CreateVolume')],
  ['csi-provisioner', 'API server', 'create the PersistentVolume'],
  ['API server', 'csi-attacher', 'a VolumeAttachment is there'],
  ['csi-attacher', 'CSI driver', called('/csi.v1.Controller/ControllerPublishVolume')],
  ['csi-attacher', 'API server', 'status: attached'],
  ['kubelet', 'CSI driver', called('/csi.v1.Node/NodeStageVolume', '/csi.v1.Node/NodePublishVolume')],
  ['user', 'API server', 'ask for a larger size'],
  ['API server', 'csi-resizer', 'the request is larger'],
  ['csi-resizer', 'CSI driver', called('/csi.v1.Controller/ControllerExpandVolume')],
  ['csi-resizer', 'API server', 'size of the volume; the node is next'],
  ['kubelet', 'CSI driver', called('/csi.v1.Node/NodeExpandVolume')],
  ['user', 'API server', 'delete the pod, then the claim'],
  ['kubelet', 'CSI driver', called('/csi.v1.Node/NodeUnpublishVolume', '/csi.v1.Node/NodeUnstageVolume')],
  ['API server', 'csi-attacher', 'the VolumeAttachment is deleted'],
  ['csi-attacher', 'CSI driver', called('/csi.v1.Controller/ControllerUnpublishVolume')],
  ['API server', 'csi-provisioner', 'the PersistentVolume is Released'],
  ['csi-provisioner', 'CSI driver', called('/csi.v1.Controller/DeleteVolume')],
  ['csi-provisioner', 'API server', 'delete the PersistentVolume'],
];

function lifePicture(): string {
  const [step, row, top] = [200, 28, 58];
  const at = (actor: Actor) => 80 + actors.indexOf(actor) * step;
  const height = top + (life.length + 1) * row;
  return svgPicture({ width: 60 + (actors.length - 1) * step + 100, height, fontSize: 13, background }, [
    ...actors.flatMap((actor) => [
      svgElement('path', { d: `M${at(actor)} 40V${height - 12}`, stroke: line }),
      ...box([at(actor) - 72, 10, 144, 30], actor, actor.startsWith('csi-') ? ours : '#ffffff'),
    ]),
    ...life.flatMap(([from, to, what], index) =>
      arrow({ from: at(from), to: at(to), y: top + index * row + 14 }, what, from === 'API server'),
    ),
  ]);
}

/** Which controllers read which kind, by the rights that they use. A cache of a kind is there once. */
function sharedPicture(): string {
  const controllers = manifests.filter(({ name }) =>
    (['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as readonly ProgramName[]).includes(name),
  );
  const watchedBy = new Map<string, string[]>();
  for (const { name, rules } of controllers)
    for (const { resources } of rules.filter(({ verbs }) => verbs.includes('watch')))
      for (const kind of resources) watchedBy.set(kind, [...(watchedBy.get(kind) ?? []), name]);
  const kinds = [...watchedBy].sort((a, b) => b[1].length - a[1].length);
  const [left, column, row, top] = [250, 150, 24, 110];
  const x = (index: number) => left + index * column + column / 2;
  const bottom = top + kinds.length * row;
  const width = left + controllers.length * column + 30;
  return svgPicture({ width, height: bottom + 110, fontSize: 13, background }, [
    ...box([left, 12, controllers.length * column, 28], 'API server: one connection, one watch of each kind'),
    ...controllers.flatMap(({ name }, index) => [
      ...box([x(index) - 66, 56, 132, 30], name, ours),
      text([x(index), 101], 'a lease of its own', { ...middle, 'font-size': 11, fill: faint }),
    ]),
    ...kinds.flatMap(([kind, by], index) => {
      const y = top + index * row + 16;
      return [
        text([20, y], kind),
        ...controllers.flatMap(({ name }, at) =>
          by.includes(name) ? [svgElement('circle', { cx: x(at), cy: y - 4, r: 5, fill: '#2563eb' })] : [],
        ),
      ];
    }),
    ...box([left, bottom + 16, controllers.length * column, 28], 'one HTTP server: metrics, health, profiles'),
    ...box(
      [left, bottom + 60, controllers.length * column, 28],
      'CSI driver: one channel; name and capabilities are asked for once',
    ),
  ]);
}

const folder = join(import.meta.dirname, '..', 'docs', 'pictures');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'sidecars.svg'), sidecarsPicture());
writeFileSync(join(folder, 'life-of-a-claim.svg'), lifePicture());
writeFileSync(join(folder, 'one-process.svg'), sharedPicture());
