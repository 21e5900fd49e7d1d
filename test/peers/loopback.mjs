// Preloaded into a Node program that knows no option for its address:
// whatever it listens on by port is bound to 127.0.0.1 instead of every interface.
import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...args) {
  const first = args[0];
  if (first !== null && typeof first === "object" && "port" in first) {
    args[0] = { ...first, host: "127.0.0.1" };
  } else if (typeof first === "number" || /^\d+$/.test(String(first))) {
    const rest = args.slice(1).filter((a) => typeof a === "function");
    args = [{ port: Number(first), host: "127.0.0.1" }, ...rest];
  }
  return listen.apply(this, args);
};
