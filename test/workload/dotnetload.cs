// A program with work of several kinds: recursion, virtual calls through interfaces, exceptions, LINQ, sorting, async methods. usage: dotnetload SECONDS [THREADS]
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Demo.App {
public class Outer<T> {
	public class Inner {
		[MethodImpl(MethodImplOptions.NoInlining)] public static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
		[MethodImpl(MethodImplOptions.NoInlining)] public static U Twice<U>(U x, Func<U, U> f) { return f(f(x)); }
	}
}
interface IShape { double Area(); }
class Square : IShape { double s; public Square(double s) { this.s = s; } [MethodImpl(MethodImplOptions.NoInlining)] public double Area() { double t = 0; for (int i = 0; i < 1000; i++) t += Math.Sqrt(s + i); return t; } }
class Round : IShape { double s; public Round(double s) { this.s = s; } [MethodImpl(MethodImplOptions.NoInlining)] public double Area() { double t = 0; for (int i = 0; i < 1000; i++) t += Math.Sin(s + i); return t; } }
static class Program {
	static long sink;
	[MethodImpl(MethodImplOptions.NoInlining)] static double Shapes(List<IShape> l) { double t = 0; foreach (var s in l) t += s.Area(); return t; }
	[MethodImpl(MethodImplOptions.NoInlining)] static int Throws(int n) { try { if (n == 0) throw new InvalidOperationException("x"); return Throws(n - 1); } catch (ArgumentException) { return 1; } finally { sink++; } }
	[MethodImpl(MethodImplOptions.NoInlining)] static int Catches() { try { return Throws(5); } catch (InvalidOperationException e) { return e.Message.Length; } }
	[MethodImpl(MethodImplOptions.NoInlining)] static string Texts(int n) { var b = new StringBuilder(); for (int i = 0; i < n; i++) b.Append(i).Append(','); return string.Join("-", b.ToString().Split(',').Where(x => x.Length > 1).OrderBy(x => x)); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Sorts() { var a = Enumerable.Range(0, 3000).Select(i => (i * 7919) % 3001).ToArray(); Array.Sort(a, (x, y) => y.CompareTo(x)); sink += a[0]; }
	static async Task<int> Deep(int n) { if (n == 0) { await Task.Yield(); return Outer<int>.Inner.Fib(18); } return 1 + await Deep(n - 1); }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Dict() { var d = new Dictionary<string, int>(); for (int i = 0; i < 2000; i++) d["k" + i % 100] = i; sink += d.Count; }
	[MethodImpl(MethodImplOptions.NoInlining)] static void Sleeps(double secs) { for (int i = 0; i < secs * 50; i++) Thread.Sleep(20); }
	static void Main(string[] args) {
		double secs = args.Length > 0 ? double.Parse(args[0]) : 5;
		int threads = args.Length > 1 ? int.Parse(args[1]) : 0;
		new Thread(() => Sleeps(secs)).Start();
		for (int i = 0; i < threads; i++) { var t = new Thread(() => Work(secs)); t.Start(); }
		Work(secs);
	}
	static void Work(double secs) {
		var w = Stopwatch.StartNew();
		var shapes = new List<IShape>(); for (int i = 0; i < 20; i++) shapes.Add(i % 2 == 0 ? new Square(i) : new Round(i));
		while (w.Elapsed.TotalSeconds < secs) {
			sink += Outer<string>.Inner.Fib(22);
			sink += (long)Shapes(shapes);
			for (int i = 0; i < 3; i++) sink += Catches();
			sink += Texts(300).Length;
			Sorts(); Dict();
			sink += Deep(5).Result;
			sink += Outer<int>.Inner.Twice(5, x => x * 2 + Outer<int>.Inner.Fib(12));
			GC.KeepAlive(new byte[100000]);
		}
		Console.WriteLine(sink);
	}
}
}
