// SPDX-License-Identifier: Apache-2.0
/**
 * `relay <socket> <target>`: hands each connection to a socket on to another one. It is the driver of a controller's pod where all
 * storage is in the driver's process on the node; when that process ends, the connections do.
 */
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

const [socket = '', target = ''] = process.argv.slice(2);
// As process 1 of a container it ends only on a signal that it handles.
process.once('SIGTERM', () => process.exit(0));
// The one of a container that was killed.
rmSync(socket, { force: true });
createServer((near) => {
  const far = connect(target);
  near.pipe(far);
  far.pipe(near);
  endWith(near, far);
  endWith(far, near);
}).listen(socket);

/** Also when the other one could not be opened: the caller sees a connection that was closed. */
function endWith(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy()).on('close', () => other.destroy());
}
