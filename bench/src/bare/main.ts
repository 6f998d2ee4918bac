// SPDX-License-Identifier: Apache-2.0
/** `node main.cjs <proto file> <program> --kubeconfig=PATH [--csi-address=ADDRESS]`; other flags are left alone. */
import { openApi, openDriver } from './clients.ts';
import { programs } from './programs.ts';

const [protoFile = '', name = '', ...flags] = process.argv.slice(2);
const flag = (prefix: string): string => flags.find((each) => each.startsWith(prefix))?.slice(prefix.length) ?? '';

async function run(): Promise<void> {
  const address = flag('--csi-address=');
  const api = openApi(flag('--kubeconfig='));
  // snapshot-controller calls no driver.
  const call = openDriver(address === '' ? 'unix:///dev/null' : address, protoFile);
  const driver = address === '' ? '' : (await call<{ name: string }>('Identity/GetPluginInfo', {})).name;
  await programs[name]!({ api, call, driver });
}

process.on('SIGTERM', () => process.exit(0));
if (flags.includes('--version')) console.log(`${name} ${process.version}`);
else void run();
